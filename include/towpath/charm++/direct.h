// CkNcpyBuffer::get and put. Every rank has a branch of a group, which is made before the main
// chares: it is asked for memory of its rank, and gets what other ranks send for such memory.
#ifndef TOWPATH_CHARM_DIRECT_H
#define TOWPATH_CHARM_DIRECT_H

#include <cstring>
#include <string>

#include "creation.h"
#include "registration.h"

namespace ck {

// From which memory into which.
struct Transfer {
    CkNcpyBuffer from;
    CkNcpyBuffer to;
    void pup(PUP::er &p) {
        p | from;
        p | to;
    }
};

// The branch.
class DirectTransfers : public Group {
public:
    DirectTransfers() = default;
    explicit DirectTransfers(CkMigrateMessage *message) : Group(message) {}

    static inline towpath_type type = {};
    static inline std::string name;
    static inline EntryMethod constructor, request, fill, tell;
    // The name of the group, on all ranks.
    static inline CkGroupID group;

    static void ck_pup(DirectTransfers *, PUP::er &) {}
    static Chare *ck_base(DirectTransfers *branch) { return branch; }

    static Chare *construct(const Call &) { return new DirectTransfers(); }
    // Somebody asks for memory of this rank.
    static void requested(const Call &call) {
        send(Unmarshaller(*call.message).value<Transfer>());
    }
    // The content of other memory, for memory of this rank.
    static void filled(const Call &call) {
        towpath_message_hold(call.message);
        Unmarshaller in(*call.message);
        auto transfer = in.value<Transfer>();
        Array<char> content = in.array<char>();
        void *memory = const_cast<void *>(transfer.to.ptr);
        std::vector<towpath_placement> placements;
        if (content.number >= 0)
            placements.push_back({static_cast<std::uint32_t>(content.number), memory,
                                  content.count, false});
        else if (content.count != 0)
            std::memcpy(memory, content.elements, content.count);
        place(*call.message, placements, *call.id, tell, marshal(value(transfer)));
    }
    // The memory is filled.
    static void told(const Call &call) {
        auto transfer = Unmarshaller(*call.message).value<Transfer>();
        transfer.to.ck_tell(transfer.from.cnt);
    }
    // Asks another rank for its memory.
    static void ask(const Transfer &transfer) {
        invoke(branch(group.id, transfer.from.pe), request, marshal(value(transfer)));
    }
    // Sends memory of this rank to where it is to be.
    static void send(const Transfer &transfer) {
        invoke(branch(group.id, transfer.to.pe), fill,
               marshal(value(transfer), lent_posted<char>(transfer.from, transfer.from.cnt)));
    }

    static void register_all() {
        register_type<DirectTransfers, DirectTransfers>(type, name, "CkNcpyBuffer");
        register_constructor<construct>(constructor, "CkNcpyBuffer::CkNcpyBuffer()", type);
        register_method<requested>(request, "CkNcpyBuffer::get()", 0, 0);
        register_method<filled>(fill, "CkNcpyBuffer::put()", 0, 0);
        register_method<told>(tell, "CkNcpyBuffer::told()", 0, 0);
    }
    static void make() { group = create_group(type, constructor, nothing()); }
};

// Checks a transfer that this rank begins, and makes it if all memory is here.
inline CkNcpyStatus begin_transfer(const char *method, const CkNcpyBuffer &own,
                                   const CkNcpyBuffer &from, const CkNcpyBuffer &to) {
    std::string named = std::string("CkNcpyBuffer::") + method;
    if (own.pe != CkMyPe())
        fail(named + " was called on rank " + std::to_string(CkMyPe()) +
             " for memory of rank " + std::to_string(own.pe) + ": call it where the memory is");
    if (from.pe < 0 || to.pe < 0)
        fail(named + " was given a buffer without a length: make it by CkNcpyBuffer(address, "
                     "bytes)");
    if (to.cnt < from.cnt)
        fail(named + ": the destination has " + std::to_string(to.cnt) +
             " bytes, which is less than the " + std::to_string(from.cnt) + " of the source");
    if (from.pe != to.pe)
        return CkNcpyStatus::incomplete;
    if (from.cnt != 0)
        std::memmove(const_cast<void *>(to.ptr), from.ptr, from.cnt);
    from.ck_tell(from.cnt);
    to.ck_tell(from.cnt);
    return CkNcpyStatus::complete;
}

} // namespace ck

inline CkNcpyStatus CkNcpyBuffer::get(const CkNcpyBuffer &source) const {
    CkNcpyStatus status = ck::begin_transfer("get", *this, source, *this);
    if (status == CkNcpyStatus::incomplete)
        ck::DirectTransfers::ask({source, *this});
    return status;
}

inline CkNcpyStatus CkNcpyBuffer::put(const CkNcpyBuffer &destination) const {
    CkNcpyStatus status = ck::begin_transfer("put", *this, *this, destination);
    if (status == CkNcpyStatus::incomplete)
        ck::DirectTransfers::send({*this, destination});
    return status;
}

#endif
