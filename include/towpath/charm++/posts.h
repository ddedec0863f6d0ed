// Memory that receivers name for nocopypost arrays, by their post methods or by tags.
#ifndef TOWPATH_CHARM_POSTS_H
#define TOWPATH_CHARM_POSTS_H

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices.h"
#include "proxies.h"
#include "zerocopy.h"

// What a post method says of an array.
struct CkNcpyBufferPost {
    CkNcpyBufferMode regMode = CK_BUFFER_REG;
    CkNcpyDeregMode deregMode = CK_BUFFER_DEREG;
    bool is_matched = false;
    std::size_t tag = 0;
    // How many there are in the array of the post method, from this on.
    int ck_left = 0;
};

namespace ck {

template <std::size_t count, class Post> struct ArrayPosts {
    ArrayPosts() {
        if constexpr (std::is_same_v<Post, CkNcpyBufferPost>)
            for (std::size_t i = 0; i < count; ++i)
                all[i].ck_left = static_cast<int>(count - i);
    }
    Post all[count];
};

// An array of a message, and where it is to be.
struct PostedArray {
    const void *from;
    int number; // of one beside the payload
    std::size_t bytes;
    void *to;
    CkNcpyBufferPost post;
    bool is_on_device = false;
    // Whose work may use the memory before.
    Stream stream;
};

// A message whose arrays are not all where they are to be.
struct PendingArrays {
    towpath_message message;
    towpath_chare_id id;
    const EntryMethod *entry;
    std::vector<PostedArray> arrays;
    std::size_t missing = 0;
    std::function<towpath_message(const PostedArray *)> marshal;

    // The method is invoked by a message that names the arrays where they are then. The chare stays
    // on this rank until it runs.
    void complete() {
        std::vector<towpath_placement> placements;
        for (const PostedArray &array : arrays) {
            if (array.is_on_device && array.bytes != 0)
                array.stream.synchronize();
            if (array.number >= 0)
                placements.push_back({static_cast<std::uint32_t>(array.number), array.to,
                                      array.bytes, array.is_on_device});
            else if (array.bytes != 0)
                std::memcpy(array.to, array.from, array.bytes);
        }
        towpath_message then = marshal(arrays.data());
        then.reference = message.reference;
        then.flags |= message.flags & TOWPATH_PRIORITY;
        then.priority = message.priority;
        place(message, placements, id, *entry, then);
    }
};

// Memory that was posted, and arrays that wait for it, by tags.
class Posts {
public:
    static Posts &all() {
        static Posts posts;
        return posts;
    }
    void post(std::size_t tag, void *memory, std::size_t bytes) {
        auto found = expected.extract(tag);
        if (!found.empty()) {
            auto [pending, number] = found.mapped();
            return place(*pending, number, memory, bytes, tag);
        }
        if (!posted.emplace(tag, std::make_pair(memory, bytes)).second)
            fail("memory was posted twice with the tag " + std::to_string(tag) + " on rank " +
                 std::to_string(towpath_rank()) +
                 ": a tag can be used again once the first has been filled");
    }
    void start(std::shared_ptr<PendingArrays> pending) {
        pending->missing = pending->arrays.size();
        std::string tags;
        for (std::size_t i = 0; i < pending->arrays.size(); ++i)
            if (!find(pending, i))
                tags += " " + std::to_string(pending->arrays[i].post.tag);
        if (!tags.empty())
            check(towpath_await_place(&pending->message,
                                      (pending->entry->name + " waits for memory that CkPostBuffer "
                                       "posts with the tag" + tags).c_str()));
    }

private:
    // Whether there is memory for an array.
    bool find(const std::shared_ptr<PendingArrays> &pending, std::size_t number) {
        PostedArray &array = pending->arrays[number];
        if (!array.post.is_matched) {
            if (array.to == nullptr)
                fail("the post method of " + pending->entry->name + " has neither set the pointer "
                     "to an array nor called CkMatchBuffer for it");
            place(*pending, number, array.to, array.bytes, 0);
            return true;
        }
        std::size_t tag = array.post.tag;
        if (auto found = posted.extract(tag); !found.empty()) {
            place(*pending, number, found.mapped().first, found.mapped().second, tag);
            return true;
        }
        if (!expected.emplace(tag, std::make_pair(pending, number)).second)
            fail("two arrays were matched with the tag " + std::to_string(tag) + " on rank " +
                 std::to_string(towpath_rank()) + ", the second one for " + pending->entry->name +
                 ", before memory was posted for the first");
        return false;
    }
    static void place(PendingArrays &pending, std::size_t number, void *memory, std::size_t bytes,
                      std::size_t tag) {
        PostedArray &array = pending.arrays[number];
        if (array.bytes > bytes)
            fail("an array of " + std::to_string(array.bytes) + " bytes for " +
                 pending.entry->name + " does not fit into the " + std::to_string(bytes) +
                 " bytes that were posted with the tag " + std::to_string(tag));
        array.to = memory;
        if (--pending.missing == 0)
            pending.complete();
    }

    std::unordered_map<std::size_t, std::pair<void *, std::size_t>> posted;
    std::unordered_map<std::size_t, std::pair<std::shared_ptr<PendingArrays>, std::size_t>>
        expected;
};

template <class T>
inline PostedArray posted(const Array<T> &from, T *to, std::size_t count,
                          const CkNcpyBufferPost &post) {
    if (count > from.count)
        fail("a post method expects an array of " + std::to_string(count) +
             " elements, but " + std::to_string(from.count) + " were sent");
    return {from.elements, from.number, count * sizeof(T), to, post};
}
template <class T>
inline PostedArray posted(const Array<T> &from, T *to, std::size_t count,
                          const CkDeviceBufferPost &post) {
    PostedArray array = posted(from, to, count, CkNcpyBufferPost());
    array.is_on_device = true;
    array.stream = post.cuda_stream;
    return array;
}
template <class T> inline Array<const T> placed(const PostedArray &array) {
    return placed(static_cast<const T *>(array.to), array.bytes / sizeof(T));
}

// Messages of such methods begin with whether their arrays are where they are to be.
inline bool are_placed(towpath_message &message) {
    return Unmarshaller(message).value<bool>();
}

} // namespace ck

inline void CkMatchBuffer(CkNcpyBufferPost *post, int index, std::size_t tag) {
    if (index < 0 || index >= post->ck_left)
        ck::fail("CkMatchBuffer was called for array " + std::to_string(index) +
                 ", but the method has " + std::to_string(post->ck_left) +
                 " nocopypost arrays, which are numbered from 0");
    post[index].is_matched = true;
    post[index].tag = tag;
}
template <class T> inline void CkPostBuffer(T *memory, std::size_t count, std::size_t tag) {
    ck::Posts::all().post(tag, memory, count * sizeof(T));
}
inline void CkMatchNodeBuffer(CkNcpyBufferPost *post, int index, std::size_t tag) {
    CkMatchBuffer(post, index, tag);
}
template <class T> inline void CkPostNodeBuffer(T *memory, std::size_t count, std::size_t tag) {
    CkPostBuffer(memory, count, tag);
}

#endif
