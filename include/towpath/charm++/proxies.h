// Names of chares and collections, and what all proxies have.
#ifndef TOWPATH_CHARM_PROXIES_H
#define TOWPATH_CHARM_PROXIES_H

#include "index.h"
#include "messages.h"

struct CkChareID {
    towpath_chare_id id = {};
    void pup(PUP::er &p) { p.bytes(&id, sizeof id); }
};

struct CkGroupID {
    std::uint64_t id = 0;
    bool operator==(const CkGroupID &other) const { return id == other.id; }
    bool operator!=(const CkGroupID &other) const { return id != other.id; }
    bool isZero() const { return id == 0; }
    void setZero() { id = 0; }
    void pup(PUP::er &p) { p | id; }
};
typedef CkGroupID CkNodeGroupID;

struct CkArrayID {
    std::uint64_t id = 0;
    bool operator==(const CkArrayID &other) const { return id == other.id; }
    bool operator!=(const CkArrayID &other) const { return id != other.id; }
    bool isZero() const { return id == 0; }
    void pup(PUP::er &p) { p | id; }
};

class CkCallback;
typedef void (*CkReductionClientFn)(void *parameter, int size, void *data);

namespace ck {

// Who is told of results of reductions whose contributions name nobody.
void set_reduction_client(std::uint64_t collection, const CkCallback &client);
void set_reduction_client(std::uint64_t collection, CkReductionClientFn function, void *parameter);
// The rank where an array's map says that an element begins, or -1.
int mapped_rank(const towpath_chare_id &element);

inline towpath_chare_id branch(std::uint64_t collection, int rank) {
    towpath_chare_id id = {collection, {}};
    id.index.words[0] = rank;
    id.index.length = 1;
    return id;
}

inline bool is_same(const towpath_chare_id &a, const towpath_chare_id &b) {
    return a.collection == b.collection && CkArrayIndex(a.index) == CkArrayIndex(b.index);
}

// An entry method, and how its messages are sent.
struct EntryMethod {
    std::string name;
    towpath_entry c = {};
    std::uint32_t flags = 0;
};

inline void prepare(const EntryMethod &entry, towpath_message &message,
                    const CkEntryOptions *options) {
    message.entry = entry.c.number;
    message.flags |= entry.flags;
    if (options != nullptr && (options->flags & TOWPATH_PRIORITY) != 0) {
        message.flags |= TOWPATH_PRIORITY;
        message.priority = options->priority;
    }
}

// Proxies that were not made by ckNew, or sent, name collection 0.
inline void check_target(std::uint64_t collection, const EntryMethod &entry,
                         towpath_message &message) {
    if (collection == 0) {
        towpath_message_free(&message);
        fail(entry.name + " was invoked by a proxy that names no chare: it was not assigned");
    }
}

inline void invoke(const towpath_chare_id &id, const EntryMethod &entry, towpath_message message,
                   const CkEntryOptions *options = nullptr) {
    check_target(id.collection, entry, message);
    prepare(entry, message, options);
    check(towpath_invoke(&id, &message));
}

// Invokes a method once arrays of a message, which was kept or held, are where they are to be.
inline void place(towpath_message &from, const std::vector<towpath_placement> &placements,
                  const towpath_chare_id &id, const EntryMethod &entry, towpath_message then) {
    prepare(entry, then, nullptr);
    check(towpath_place(&from, placements.data(), placements.size(), &id, &then));
}

inline void broadcast(std::uint64_t collection, const EntryMethod &entry, towpath_message message,
                      const CkEntryOptions *options = nullptr) {
    check_target(collection, entry, message);
    prepare(entry, message, options);
    check(towpath_broadcast(collection, &message));
}

// The object of a chare of this rank, or null.
inline void *local(const towpath_chare_id &id) {
    const Running &now = running();
    if (now.made != nullptr && is_same(id, *now.id))
        return now.made;
    return towpath_local(&id);
}

// The object that a local method is called of.
template <class T> inline T *here(T *object, const char *method) {
    if (object == nullptr)
        fail(std::string(method) + " is [local], but the chare is not on this rank");
    return object;
}

} // namespace ck

class CProxy {};

// A chare of its own.
class CProxy_Chare : public CProxy {
public:
    CProxy_Chare() = default;
    CProxy_Chare(const CkChareID &chare) : target(chare) {}
    const CkChareID &ckGetChareID() const { return target; }
    const towpath_chare_id &ck_target() const { return target.id; }
    void ckSetChareID(const CkChareID &chare) { target = chare; }
    void pup(PUP::er &p) { p | target; }

protected:
    void ck_send(const ck::EntryMethod &entry, const towpath_message &message,
                 const CkEntryOptions *options) const {
        ck::invoke(target.id, entry, message, options);
    }
    CkChareID target;
};

// All branches of a group.
class CProxy_Group : public CProxy {
public:
    CProxy_Group() = default;
    CProxy_Group(CkGroupID group) : group(group) {}
    CkGroupID ckGetGroupID() const { return group; }
    void ckSetGroupID(CkGroupID id) { group = id; }
    operator CkGroupID() const { return group; }
    void ckSetReductionClient(const CkCallback *client) const {
        ck::set_reduction_client(group.id, *client);
    }
    void setReductionClient(CkReductionClientFn function, void *parameter = nullptr) const {
        ck::set_reduction_client(group.id, function, parameter);
    }
    void pup(PUP::er &p) { p | group; }

protected:
    void ck_send(const ck::EntryMethod &entry, const towpath_message &message,
                 const CkEntryOptions *options) const {
        ck::broadcast(group.id, entry, message, options);
    }
    CkGroupID group;
};

// One branch.
class CProxyElement_Group : public CProxy {
public:
    CProxyElement_Group() = default;
    CProxyElement_Group(CkGroupID group, int rank) : group(group), rank(rank) {}
    CkGroupID ckGetGroupID() const { return group; }
    int ckGetGroupPe() const { return rank; }
    towpath_chare_id ck_target() const { return ck::branch(group.id, rank); }
    void pup(PUP::er &p) {
        p | group;
        p | rank;
    }

protected:
    void ck_send(const ck::EntryMethod &entry, const towpath_message &message,
                 const CkEntryOptions *options) const {
        ck::invoke(ck_target(), entry, message, options);
    }
    CkGroupID group;
    int rank = 0;
};

// A process has one rank, so a node group is a group.
typedef CProxy_Group CProxy_NodeGroup;
typedef CProxyElement_Group CProxyElement_NodeGroup;

// All elements of an array.
class CProxy_ArrayBase : public CProxy {
public:
    CProxy_ArrayBase() = default;
    CProxy_ArrayBase(CkArrayID array) : array(array) {}
    CkArrayID ckGetArrayID() const { return array; }
    operator CkArrayID() const { return array; }
    void beginInserting() {}
    void doneInserting() { towpath_done_inserting(array.id); }
    void ckSetReductionClient(const CkCallback *client) const {
        ck::set_reduction_client(array.id, *client);
    }
    void setReductionClient(CkReductionClientFn function, void *parameter = nullptr) const {
        ck::set_reduction_client(array.id, function, parameter);
    }
    void pup(PUP::er &p) { p | array; }

protected:
    void ck_send(const ck::EntryMethod &entry, const towpath_message &message,
                 const CkEntryOptions *options) const {
        ck::broadcast(array.id, entry, message, options);
    }
    CkArrayID array;
};
typedef CProxy_ArrayBase CProxy_ArrayElement;

// One element.
class CProxyElement_ArrayBase : public CProxy {
public:
    CProxyElement_ArrayBase() = default;
    CProxyElement_ArrayBase(CkArrayID array, const CkArrayIndex &index)
        : target{array.id, index.to_c()} {}
    CkArrayID ckGetArrayID() const { return {target.collection}; }
    CkArrayIndex ckGetIndex() const { return CkArrayIndex(target.index); }
    const towpath_chare_id &ck_target() const { return target; }
    void pup(PUP::er &p) { p.bytes(&target, sizeof target); }

protected:
    void ck_send(const ck::EntryMethod &entry, const towpath_message &message,
                 const CkEntryOptions *options) const {
        ck::invoke(target, entry, message, options);
    }
    void ck_insert(const ck::EntryMethod &constructor, towpath_message message, int rank) const {
        if (rank < 0)
            rank = ck::mapped_rank(target);
        int result = towpath_insert(&target, constructor.c.number, rank, message.payload,
                                    message.bytes);
        towpath_message_free(&message);
        ck::check(result);
    }
    towpath_chare_id target = {};
};
typedef CProxyElement_ArrayBase CProxyElement_ArrayElement;

#endif
