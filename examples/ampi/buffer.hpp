// Memory of the program that a call names, as bytes of a message.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#define AMPI_RUNTIME
#include "ampi.h"

namespace ampi {

struct Buffer {
    void *data = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_BYTE;

    // Bytes that are sent, or received at most.
    std::size_t bytes() const;
    // The bytes in memory are those of the message.
    bool is_contiguous() const;
    std::vector<std::byte> packed() const;
    // Why so many bytes cannot be received; empty if they can.
    std::string refusal(std::size_t bytes) const;
    // Takes in the bytes of a message, which are not refused.
    void unpack(const void *from, std::size_t bytes) const;
    // The memory behind so many elements.
    Buffer at(std::ptrdiff_t elements, int count) const;
};

// Memory of its own for so many elements.
class OwnBuffer {
public:
    OwnBuffer(int count, MPI_Datatype type);
    // With the elements of a buffer.
    explicit OwnBuffer(const Buffer &copied);
    const Buffer &get() const { return buffer_; }
    void *data() const { return buffer_.data; }

private:
    std::vector<std::byte> memory_;
    Buffer buffer_;
};

void copy(const Buffer &from, const Buffer &into);

}  // namespace ampi
