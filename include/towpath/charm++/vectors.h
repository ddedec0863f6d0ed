// CkVec, which programs used before there was std::vector.
#ifndef TOWPATH_CHARM_VECTORS_H
#define TOWPATH_CHARM_VECTORS_H

#include <vector>

#include "pup.h"

template <class T> class CkVec : public std::vector<T> {
public:
    using std::vector<T>::vector;

    std::size_t length() const { return this->size(); }
    T *getVec() { return this->data(); }
    const T *getVec() const { return this->data(); }
    // Sets an element, and makes those before it that do not exist.
    void insert(std::size_t at, const T &element) {
        T copy = element;
        this->resize(at + 1 > length() ? at + 1 : length());
        (*this)[at] = std::move(copy);
    }
    // Returns where the element is.
    std::size_t insertAtEnd(const T &element) {
        this->push_back(element);
        return length() - 1;
    }
    void remove(std::size_t at) {
        if (at < length())
            this->erase(this->begin() + static_cast<std::ptrdiff_t>(at));
    }
    void removeAll() { this->clear(); }
    void pup(PUP::er &p) { p | static_cast<std::vector<T> &>(*this); }
};

#endif
