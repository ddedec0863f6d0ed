#include "buffer.hpp"

#include <cstring>

#include "rank.hpp"

namespace ampi {

static std::size_t size_of(MPI_Datatype type) {
    int bytes;
    MPI_Type_size(type, &bytes);
    return static_cast<std::size_t>(bytes);
}

static std::ptrdiff_t extent_of(MPI_Datatype type) {
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

std::size_t Buffer::bytes() const { return static_cast<std::size_t>(count) * size_of(type); }

bool Buffer::is_contiguous() const {
    int integers, addresses, types, combiner;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    // A derived type may have its elements in any order.
    return combiner == MPI_COMBINER_NAMED &&
           static_cast<std::size_t>(extent_of(type)) == size_of(type);
}

std::vector<std::byte> Buffer::packed() const {
    int room, position = 0;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &room);
    std::vector<std::byte> bytes(static_cast<std::size_t>(room));
    MPI_Pack(data, count, type, bytes.data(), room, &position, MPI_COMM_SELF);
    bytes.resize(static_cast<std::size_t>(position));
    return bytes;
}

std::string Buffer::refusal(std::size_t length) const {
    if (length > bytes())
        return std::to_string(length) + " bytes are sent, but " + std::to_string(bytes()) +
               " bytes are received at most: the message would be truncated";
    return "";
}

void Buffer::unpack(const void *from, std::size_t length) const {
    if (length == 0)
        return;
    if (is_contiguous()) {
        std::memcpy(data, from, length);
        return;
    }
    // A message may end within an element, which MPI_Unpack refuses.
    MPI_Sendrecv(from, static_cast<int>(length), MPI_PACKED, 0, 0, data, count, type, 0, 0,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

Buffer Buffer::at(std::ptrdiff_t elements, int number) const {
    return {static_cast<std::byte *>(data) + elements * extent_of(type), number, type};
}

OwnBuffer::OwnBuffer(int count, MPI_Datatype type) {
    MPI_Aint lower, bytes;
    MPI_Type_get_true_extent(type, &lower, &bytes);
    if (count > 0)
        memory_.resize(static_cast<std::size_t>(bytes + (count - 1) * extent_of(type)));
    buffer_ = {memory_.data() - lower, count, type};
}

OwnBuffer::OwnBuffer(const Buffer &copied) : OwnBuffer(copied.count, copied.type) {
    copy(copied, buffer_);
}

void copy(const Buffer &from, const Buffer &into) {
    if (std::string refusal = into.refusal(from.bytes()); !refusal.empty())
        fail("of a rank to itself, " + refusal);
    if (from.is_contiguous())
        into.unpack(from.data, from.bytes());
    else
        into.unpack(from.packed().data(), from.bytes());
}

}  // namespace ampi
