// Arrays in the memory of devices. Streams are those of CUDA or HIP.
#ifndef TOWPATH_CHARM_DEVICES_H
#define TOWPATH_CHARM_DEVICES_H

#include <cstddef>

#include "callback.h"
#include "zerocopy.h"

namespace ck {

// A stream, whose type programs know; without one, the default stream of the current device.
class Stream {
public:
    Stream(std::nullptr_t = nullptr) {}
    template <class S> Stream(S *stream) : stream(stream) {}
    // Waits until its work is complete.
    void synchronize() const { check(towpath_synchronize_stream(stream)); }

private:
    void *stream = nullptr;
};

} // namespace ck

// Memory of a device, which is sent once all work of the stream so far is complete.
class CkDeviceBuffer {
public:
    CkDeviceBuffer() = default;
    explicit CkDeviceBuffer(const void *address, ck::Stream stream = nullptr)
        : ptr(address), cuda_stream(stream) {}
    CkDeviceBuffer(const void *address, const CkCallback &callback, ck::Stream stream = nullptr)
        : ptr(address), cb(callback), cuda_stream(stream) {}
    // The parameter says how long the array is.
    CkDeviceBuffer(const void *address, std::size_t, ck::Stream stream = nullptr)
        : CkDeviceBuffer(address, stream) {}
    CkDeviceBuffer(const void *address, std::size_t, const CkCallback &callback,
                   ck::Stream stream = nullptr)
        : CkDeviceBuffer(address, callback, stream) {}

    // So many bytes of it have been sent.
    void ck_tell(std::size_t bytes) const {
        CkDeviceBuffer copy = *this;
        copy.cnt = bytes;
        cb.send(static_cast<int>(sizeof copy), &copy);
    }

    const void *ptr = nullptr;
    std::size_t cnt = 0;
    CkCallback cb;
    ck::Stream cuda_stream;
};

// What a post method says of an array: work of this stream may use the memory before.
struct CkDeviceBufferPost {
    ck::Stream cuda_stream;
};

namespace ck {

// An array to send from the memory of a device, however short.
template <class T> class LentOnDevice : public Copied<T> {
public:
    LentOnDevice(const CkDeviceBuffer &buffer, std::size_t count)
        : Copied<T>(static_cast<const T *>(buffer.ptr), count), buffer(buffer) {
        this->is_beside = true;
    }
    void attach(towpath_message &message) const {
        if (this->bytes() != 0)
            buffer.cuda_stream.synchronize();
        const towpath_callback done = telling(buffer, this->bytes());
        this->number = this->checked(
            towpath_message_add_device_array(&message, buffer.ptr, this->bytes(), &done));
    }

private:
    const CkDeviceBuffer &buffer;
};
template <class T>
inline LentOnDevice<T> lent_on_device(const CkDeviceBuffer &buffer, std::size_t count) {
    return {buffer, count};
}

} // namespace ck

#endif
