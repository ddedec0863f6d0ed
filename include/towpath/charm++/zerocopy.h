// Memory that is sent without a copy on the way, where that is possible.
#ifndef TOWPATH_CHARM_ZEROCOPY_H
#define TOWPATH_CHARM_ZEROCOPY_H

#include <cstdlib>

#include "callback.h"
#include "marshal.h"

enum CkNcpyBufferMode : unsigned char { CK_BUFFER_UNREG, CK_BUFFER_REG, CK_BUFFER_PREREG,
                                        CK_BUFFER_NOREG };
enum CkNcpyDeregMode : unsigned char { CK_BUFFER_DEREG, CK_BUFFER_NODEREG };
enum class CkNcpyStatus { incomplete, complete };

// Memory of a rank, and what happens once a transfer of it is complete. It can be sent.
class CkNcpyBuffer {
public:
    CkNcpyBuffer() = default;
    // An argument of a parameter that says how long the array is.
    explicit CkNcpyBuffer(const void *address, const CkCallback &callback = CkCallback())
        : ptr(address), cb(callback) {}
    CkNcpyBuffer(const void *address, std::size_t bytes, CkNcpyBufferMode mode = CK_BUFFER_REG,
                 CkNcpyDeregMode deregistration = CK_BUFFER_DEREG) {
        init(address, bytes, mode, deregistration);
    }
    CkNcpyBuffer(const void *address, std::size_t bytes, const CkCallback &callback,
                 CkNcpyBufferMode mode = CK_BUFFER_REG,
                 CkNcpyDeregMode deregistration = CK_BUFFER_DEREG) {
        init(address, bytes, callback, mode, deregistration);
    }
    void init(const void *address, std::size_t bytes, CkNcpyBufferMode mode = CK_BUFFER_REG,
              CkNcpyDeregMode deregistration = CK_BUFFER_DEREG) {
        init(address, bytes, CkCallback(), mode, deregistration);
    }
    void init(const void *address, std::size_t bytes, const CkCallback &callback,
              CkNcpyBufferMode mode = CK_BUFFER_REG,
              CkNcpyDeregMode deregistration = CK_BUFFER_DEREG) {
        ptr = address;
        cnt = bytes;
        pe = CkMyPe();
        cb = callback;
        regMode = mode;
        deregMode = deregistration;
    }
    CkNcpyBuffer &setRef(const void *value) {
        ref = value;
        return *this;
    }
    const void *getRef() const { return ref; }
    // The memory needs no registration.
    void registerMem() {}
    void deregisterMem() {}

    // Fills this memory, which is here, from other memory, or other memory from this. Both are
    // told. What is not complete at once needs the rank of the other memory to receive messages.
    CkNcpyStatus get(const CkNcpyBuffer &source) const;
    CkNcpyStatus put(const CkNcpyBuffer &destination) const;
    void pup(PUP::er &p) { p.bytes(static_cast<void *>(this), sizeof *this); }

    // So many bytes of it have been sent or filled.
    void ck_tell(std::size_t bytes) const {
        if (cb.isInvalid())
            return;
        CkNcpyBuffer copy = *this;
        copy.cnt = bytes;
        cb.send(static_cast<int>(sizeof copy), &copy);
    }

    const void *ptr = nullptr;
    std::size_t cnt = 0;
    int pe = -1;
    const void *ref = nullptr;
    CkCallback cb;
    CkNcpyBufferMode regMode = CK_BUFFER_REG;
    CkNcpyDeregMode deregMode = CK_BUFFER_DEREG;
};

inline CkNcpyBuffer CkSendBuffer(const void *address, const CkCallback &callback,
                                 CkNcpyBufferMode = CK_BUFFER_REG,
                                 CkNcpyDeregMode = CK_BUFFER_DEREG) {
    return CkNcpyBuffer(address, callback);
}
inline CkNcpyBuffer CkSendBuffer(const void *address, CkNcpyBufferMode = CK_BUFFER_REG,
                                 CkNcpyDeregMode = CK_BUFFER_DEREG) {
    return CkNcpyBuffer(address);
}
// The published form.
inline CkNcpyBuffer RDMA(const void *address, const CkCallback &callback = CkCallback()) {
    return CkNcpyBuffer(address, callback);
}

// Long memory is in the heap that the ranks of a host share.
inline void *CkRdmaAlloc(std::size_t bytes) { return std::malloc(bytes); }
inline void CkRdmaFree(void *memory) { std::free(memory); }

namespace ck {

// Whether an array is lent, and whether its receiver says where it is to be.
enum class Lending { Now, Posted, Never };

// Calls the callback of a buffer, if it has one, once so many bytes of it can be used again.
template <class Buffer> inline towpath_callback telling(const Buffer &buffer, std::size_t bytes) {
    towpath_callback done = {};
    if (buffer.cb.isInvalid())
        return done;
    done.kind = TOWPATH_CALL_FUNCTION;
    done.rank = towpath_rank();
    done.function = Functions::all().add_once(
        [buffer, bytes](const void *, std::size_t) { buffer.ck_tell(bytes); });
    return done;
}

// An array to send from the memory of the sender, who is told when it can be used again. A short
// one is copied, which takes less time.
template <class T> class Lent : public Copied<T> {
public:
    Lent(const CkNcpyBuffer &buffer, std::size_t count, Lending lending)
        : Copied<T>(static_cast<const T *>(buffer.ptr), count), buffer(buffer),
          is_posted(lending == Lending::Posted) {
        this->is_beside &= lending != Lending::Never;
    }
    void attach(towpath_message &message) const {
        if (!this->is_beside)
            return;
        const towpath_callback done = telling(buffer, this->bytes());
        auto add = is_posted ? towpath_message_add_posted_array : towpath_message_add_array;
        this->number = this->checked(add(&message, buffer.ptr, this->bytes(), &done));
    }
    void sent() const {
        if (!this->is_beside)
            buffer.ck_tell(this->bytes());
    }

private:
    const CkNcpyBuffer &buffer;
    bool is_posted;
};
template <class T> inline Lent<T> lent(const CkNcpyBuffer &buffer, std::size_t count) {
    return {buffer, count, Lending::Now};
}
template <class T> inline Lent<T> lent_posted(const CkNcpyBuffer &buffer, std::size_t count) {
    return {buffer, count, Lending::Posted};
}
// Constructors get their arrays in their parameters.
template <class T> inline Lent<T> taken(const CkNcpyBuffer &buffer, std::size_t count) {
    return {buffer, count, Lending::Never};
}

} // namespace ck

#endif
