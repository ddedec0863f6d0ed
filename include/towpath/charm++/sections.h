// Sections: subsets of arrays and groups, to which messages are sent and over which there are
// reductions.
#ifndef TOWPATH_CHARM_SECTIONS_H
#define TOWPATH_CHARM_SECTIONS_H

#include <vector>

#include "chares.h"

// Names a section: what its members contribute to.
struct CkSectionInfo {
    towpath_section section = {};
    int get_pe() const { return static_cast<int>(section.root); }
    void pup(PUP::er &p) { p.bytes(&section, sizeof section); }
};

// What messages to sections inherit from.
class CkMcastBaseMsg {};

// The section to which a message was sent.
inline void CkGetSectionInfo(CkSectionInfo &info, const void *message) {
    info.section = ck::MessageHeader::of(message)->section;
    if (info.section.collection == 0)
        ck::fail("CkGetSectionInfo was called with a message that was not sent to a section");
}

namespace ck {

// The chare whose method is running contributes over a section.
class SectionContributor {
public:
    static void contribute(std::size_t size, const void *data, CkReduction::reducerType type,
                           const CkSectionInfo &section, int = -1, int = -1) {
        over(section, size, data, type, nullptr);
    }
    static void contribute(std::size_t size, const void *data, CkReduction::reducerType type,
                           const CkSectionInfo &section, const CkCallback &callback, int = -1,
                           int = -1) {
        over(section, size, data, type, &callback);
    }
    template <class T>
    static void contribute(const std::vector<T> &data, CkReduction::reducerType type,
                           const CkSectionInfo &section, const CkCallback &callback, int = -1,
                           int = -1) {
        over(section, data.size() * sizeof(T), data.data(), type, &callback);
    }
    static void contribute(const CkSectionInfo &section, const CkCallback &callback, int = -1,
                           int = -1) {
        over(section, 0, nullptr, CkReduction::nop, &callback);
    }
    static void contribute(const CkSectionInfo &section) {
        over(section, 0, nullptr, CkReduction::nop, nullptr);
    }

private:
    static void over(const CkSectionInfo &section, std::size_t size, const void *data,
                     CkReduction::reducerType type, const CkCallback *callback) {
        if (running().id == nullptr)
            fail("contribute over a section was called outside of the methods of chares");
        ck::contribute(*running().id, size, data, type, callback, &section.section);
    }
};

// How many members a section is made of.
inline std::ptrdiff_t checked_count(std::ptrdiff_t count) {
    if (count < 0)
        fail("a section is made of " + std::to_string(count) + " members");
    return count;
}

} // namespace ck

class CkMulticastMgr;

// All members of a section. Whoever makes it or is sent it can use it. Its messages find its
// members wherever they are.
class CProxySection : public CProxy, public ck::SectionContributor {
public:
    int ckGetNumElements() const { return static_cast<int>(members.size()); }
    const CkArrayIndex *ckGetArrayElements() const { return members.data(); }
    const CkArrayIndex &ck_member(int number) const {
        return members.at(static_cast<std::size_t>(number));
    }
    CkSectionInfo ckGetSectionInfo() const { return {name}; }
    void ckSectionDelegate(CkMulticastMgr *, int = 1) {}
    // Who is told of results of reductions whose contributions name nobody: on the rank that has
    // made the section.
    void setReductionClient(const CkCallback *client) const {
        ck::check(towpath_set_section_client(&name, &client->c));
    }
    void ckSetReductionClient(const CkCallback *client) const { setReductionClient(client); }
    void setReductionClient(CkReductionClientFn function, void *parameter = nullptr) const {
        CkCallback client = ck::reduction_client(function, parameter);
        setReductionClient(&client);
    }
    // Makes the section again, unless this rank has made it since the job has begun or restarted:
    // members contribute over the new one when they have had a message to it.
    void resetSection() {
        if (name.root != towpath_rank() || towpath_is_old_section(&name) != 0)
            make(name.collection);
    }
    void pup(PUP::er &p) {
        p.bytes(&name, sizeof name);
        p | members;
    }

protected:
    CProxySection() = default;
    CProxySection(std::uint64_t collection, std::vector<CkArrayIndex> members)
        : members(std::move(members)) {
        make(collection);
    }
    std::uint64_t ck_collection() const { return name.collection; }
    void ck_send(const ck::EntryMethod &entry, towpath_message message,
                 const CkEntryOptions *options) const {
        ck::check_target(name.collection, entry, message);
        ck::prepare(entry, message, options);
        ck::check(towpath_multicast(&name, &message));
    }

private:
    void make(std::uint64_t collection) {
        std::vector<towpath_index> indexes;
        for (const CkArrayIndex &member : members)
            indexes.push_back(member.to_c());
        ck::check(towpath_create_section(collection, indexes.data(), indexes.size(), &name));
    }

    towpath_section name = {};
    std::vector<CkArrayIndex> members;
};

inline CkCallback::CkCallback(int entry, const CProxySection &section) {
    const towpath_section name = section.ckGetSectionInfo().section;
    to_all(entry, name.collection);
    c.kind = TOWPATH_CALL_SECTION;
    c.rank = name.root;
    c.function = name.number;
}

// Members of an array: indexes, or ranges with their first and last index and a step. The last
// parameter of all, how many ranks one rank sends to, is for other implementations.
class CProxySection_ArrayBase : public CProxySection {
public:
    CProxySection_ArrayBase() = default;
    template <class Index>
    CProxySection_ArrayBase(CkArrayID array, const Index *members, std::ptrdiff_t count,
                            int = 0)
        : CProxySection(array.id, {members, members + ck::checked_count(count)}) {}
    template <class Index>
    CProxySection_ArrayBase(CkArrayID array, const std::vector<Index> &members, int = 0)
        : CProxySection(array.id, {members.begin(), members.end()}) {}
    CProxySection_ArrayBase(CkArrayID array, int low, int high, int step, int = 0)
        : CProxySection(array.id, in_ranges({{low, high, step}})) {}
    CProxySection_ArrayBase(CkArrayID array, int low1, int high1, int step1, int low2, int high2,
                            int step2, int = 0)
        : CProxySection(array.id, in_ranges({{low1, high1, step1}, {low2, high2, step2}})) {}
    CProxySection_ArrayBase(CkArrayID array, int low1, int high1, int step1, int low2, int high2,
                            int step2, int low3, int high3, int step3, int = 0)
        : CProxySection(array.id, in_ranges({{low1, high1, step1},
                                             {low2, high2, step2},
                                             {low3, high3, step3}})) {}
    CkArrayID ckGetArrayID() const { return {ck_collection()}; }

private:
    struct Range {
        int low, high, step;
    };
    static std::vector<CkArrayIndex> in_ranges(std::initializer_list<Range> ranges) {
        std::vector<CkArrayIndex> all(1);
        for (const Range &range : ranges) {
            if (range.step <= 0)
                ck::fail("the step of a section's range is " + std::to_string(range.step) +
                         ": it is 1 or more");
            std::vector<CkArrayIndex> longer;
            for (CkArrayIndex index : all) {
                ++index.nInts;
                for (std::int64_t at = range.low; at <= range.high; at += range.step) {
                    index.data()[index.nInts - 1] = static_cast<int>(at);
                    longer.push_back(index);
                }
            }
            all = std::move(longer);
        }
        return all;
    }
};
typedef CProxySection_ArrayBase CProxySection_ArrayElement;

// Branches of a group, by their ranks.
class CProxySection_Group : public CProxySection {
public:
    CProxySection_Group() = default;
    CProxySection_Group(CkGroupID group, const int *ranks, std::ptrdiff_t count, int = 0)
        : CProxySection(group.id, {ranks, ranks + ck::checked_count(count)}) {}
    CProxySection_Group(CkGroupID group, const std::vector<int> &ranks, int = 0)
        : CProxySection(group.id, {ranks.begin(), ranks.end()}) {}
    CkGroupID ckGetGroupID() const { return {ck_collection()}; }
};
typedef CProxySection_Group CProxySection_NodeGroup;

class CProxySection_CkArrayMap : public CProxySection_Group {
public:
    using CProxySection_Group::CProxySection_Group;
};

// All sections are sent to along a tree of ranks: the library of Charm++ that does so has nothing
// to do.
class CkMulticastMgr : public ck::SectionContributor {
public:
    void setReductionClient(const CProxySection &section, const CkCallback *client) {
        section.setReductionClient(client);
    }
    void setReductionClient(const CProxySection &section, CkReductionClientFn function,
                            void *parameter = nullptr) {
        section.setReductionClient(function, parameter);
    }
    void resetSection(CProxySection &section) { section.resetSection(); }
};

class CProxy_CkMulticastMgr : public CProxy_Group {
public:
    static constexpr std::uint64_t NAME = UINT64_MAX - 3;
    using CProxy_Group::CProxy_Group;
    static CProxy_CkMulticastMgr ckNew(int = 0, int = 0, int = 0) {
        return CProxy_CkMulticastMgr(CkGroupID{NAME});
    }
    CkMulticastMgr *ckLocalBranch() const {
        static CkMulticastMgr manager;
        return &manager;
    }
};

#endif
