/*
 * One collective that moves data, as a value: its arguments, its buffers with what they must hold afterwards, and its request.
 *
 * movement_new() draws nothing: all ranks of the communicator call it with the same plan. movement_start() issues the call in the
 * wanted form; movement_end() checks every byte of the buffers and frees them.
 */
#ifndef TOWPATH_TESTS_MOVEMENTS_H
#define TOWPATH_TESTS_MOVEMENTS_H

#include "areas.h"

enum kind { BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, MOVEMENTS };
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

static const char *const kind_names[] = {"barrier",    "bcast",    "gather",    "gatherv",   "scatter",  "scatterv",
                                         "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};
static const char *const form_names[] = {"blocking", "nonblocking", "persistent"};

/* What all ranks agree on. */
struct plan {
    enum kind kind;
    enum form form;
    int large; /* the MPI_Count form of the function */
    int in_place;
    int root;
    int family;
    long units; /* per block; the v-forms vary it */
    unsigned send_choice, receive_choice; /* which layout, on rank 0 */
    int alike;                            /* the other ranks take the same layout instead of one of their own */
    unsigned stream;
};

struct movement {
    struct plan plan;
    MPI_Comm comm;
    int rank, size;
    struct area send, receive;
    void *send_buffer;
    long send_elements, receive_elements;
    int *send_counts, *receive_counts, *send_places, *receive_places;
    MPI_Count *send_counts_c, *receive_counts_c;
    MPI_Aint *send_places_c, *receive_places_c;
    MPI_Datatype *send_types, *receive_types;
    MPI_Request request;
};

/* The stream of the block that goes from one rank to another. */
static unsigned stream_of(const struct plan *plan, int from, int to)
{
    return plan->stream * 7919u + (unsigned)from * 131u + (unsigned)to * 17u + 1;
}

/* Units of a block of a v-form: zero now and then. All counts are multiples of 12, so that every layout fits. */
static long units_of(const struct plan *plan, int from, int to)
{
    unsigned state = stream_of(plan, from, to);
    long most = plan->units / 12 + 1;
    return draw(&state, 4) == 0 ? 0 : 12 * (long)draw(&state, (unsigned)most + 1);
}

static const struct layout *layout_of(const struct plan *plan, long units, unsigned choice, int rank)
{
    return layout_choose(plan->family, units, choice + (plan->alike ? 0 : (unsigned)rank * 3));
}

static void counts_new(struct movement *m)
{
    size_t n = (size_t)m->size;
    int *ints = calloc(4 * n, sizeof *ints);
    MPI_Count *counts = calloc(2 * n, sizeof *counts);
    MPI_Aint *places = calloc(2 * n, sizeof *places);
    MPI_Datatype *types = malloc(2 * n * sizeof *types);
    m->send_counts = ints, m->receive_counts = ints + n, m->send_places = ints + 2 * n, m->receive_places = ints + 3 * n;
    m->send_counts_c = counts, m->receive_counts_c = counts + n;
    m->send_places_c = places, m->receive_places_c = places + n;
    m->send_types = types, m->receive_types = types + n;
}

/* Lays the blocks of a v-form into one buffer, in an order that is not that of the ranks, with a gap; returns the elements. */
static long blocks_place(const struct movement *m, const struct layout *layout, const long *units, int *counts, int *places, MPI_Count *counts_c,
                         MPI_Aint *places_c)
{
    long next = 1;
    for (int i = 0; i < m->size; i++) {
        int peer = (m->size - i + (int)(m->plan.stream % (unsigned)m->size)) % m->size;
        counts[peer] = (int)(units[peer] / layout->units);
        places[peer] = (int)next;
        counts_c[peer] = counts[peer];
        places_c[peer] = places[peer];
        next += counts[peer] + peer % 2;
    }
    return next;
}

/* One block to (or from) every rank in `area`, in rank order: block i has the stream of `from` or of i. */
static void blocks_fill(struct movement *m, struct area *area, long elements, int sending, void (*write)(struct area *, long, long, unsigned))
{
    for (int peer = 0; peer < m->size; peer++) {
        int from = sending ? m->rank : peer, to = sending ? peer : m->rank;
        write(area, peer * elements, m->plan.units, stream_of(&m->plan, from, to));
    }
}

static void regular_new(struct movement *m)
{
    struct plan *p = &m->plan;
    const struct layout *sent = layout_of(p, p->units, p->send_choice, m->rank), *got = layout_of(p, p->units, p->receive_choice, m->rank);
    int rooted = m->rank == p->root, in_place = p->in_place;
    long send = p->units / sent->units, receive = p->units / got->units;
    m->send_elements = send, m->receive_elements = receive;
    switch (p->kind) {
    case BCAST:
        m->receive = area_new(got, receive);
        (rooted ? area_fill : area_expect)(&m->receive, 0, p->units, stream_of(p, p->root, 0));
        break;
    case GATHER:
    case ALLGATHER: {
        int target = p->kind == GATHER ? p->root : 0, receives = p->kind == ALLGATHER || rooted;
        in_place = in_place && receives;
        if (!in_place) {
            m->send = area_new(sent, send);
            area_fill(&m->send, 0, p->units, stream_of(p, m->rank, target));
        }
        if (receives) {
            m->receive = area_new(got, receive * m->size);
            for (int peer = 0; peer < m->size; peer++)
                (in_place && peer == m->rank ? area_fill : area_expect)(&m->receive, peer * receive, p->units, stream_of(p, peer, target));
        }
        break;
    }
    case SCATTER:
        in_place = in_place && rooted;
        if (rooted) {
            m->send = area_new(sent, send * m->size);
            blocks_fill(m, &m->send, send, 1, area_fill);
        }
        if (!in_place) {
            m->receive = area_new(got, receive);
            area_expect(&m->receive, 0, p->units, stream_of(p, p->root, m->rank));
        }
        break;
    case ALLTOALL:
        m->receive = area_new(got, receive * m->size);
        if (in_place)
            blocks_fill(m, &m->receive, receive, 1, area_fill);
        else {
            m->send = area_new(sent, send * m->size);
            blocks_fill(m, &m->send, send, 1, area_fill);
        }
        blocks_fill(m, &m->receive, receive, 0, area_expect);
        break;
    default:
        break;
    }
    p->in_place = in_place;
}

/* The buffer with a block for every rank that a v-form sends (or, in place, finds). */
static void varied_side(struct movement *m, struct area *area, const struct layout *layout, const long *units, int sending, int in_place)
{
    int *counts = sending ? m->send_counts : m->receive_counts, *places = sending ? m->send_places : m->receive_places;
    long elements = blocks_place(m, layout, units, counts, places, sending ? m->send_counts_c : m->receive_counts_c,
                                 sending ? m->send_places_c : m->receive_places_c);
    *area = area_new(layout, elements);
    int everyone = m->plan.kind == ALLTOALLV;
    for (int peer = 0; peer < m->size; peer++) {
        int target = m->plan.kind == GATHERV ? m->plan.root : m->plan.kind == ALLGATHERV ? 0 : m->rank;
        if (in_place && everyone)
            area_fill(area, places[peer], units[peer], stream_of(&m->plan, m->rank, peer));
        if (sending)
            area_fill(area, places[peer], units[peer], stream_of(&m->plan, m->rank, peer));
        else if (in_place && peer == m->rank && !everyone)
            area_fill(area, places[peer], units[peer], stream_of(&m->plan, peer, target));
        else
            area_expect(area, places[peer], units[peer], stream_of(&m->plan, peer, everyone ? m->rank : target));
    }
}

static void varied_new(struct movement *m)
{
    struct plan *p = &m->plan;
    const struct layout *sent = layout_of(p, 12, p->send_choice, m->rank), *got = layout_of(p, 12, p->receive_choice, m->rank);
    int rooted = m->rank == p->root;
    long *out = malloc(sizeof(long) * (size_t)m->size), *in = malloc(sizeof(long) * (size_t)m->size);
    counts_new(m);
    if (p->kind == ALLTOALLV) {
        for (int peer = 0; peer < m->size; peer++) {
            /* In place the block that comes must be as long as the one that goes. */
            int low = peer < m->rank ? peer : m->rank, high = peer < m->rank ? m->rank : peer;
            out[peer] = p->in_place ? units_of(p, low, high) : units_of(p, m->rank, peer);
            in[peer] = p->in_place ? out[peer] : units_of(p, peer, m->rank);
        }
        if (!p->in_place)
            varied_side(m, &m->send, sent, out, 1, 0);
        varied_side(m, &m->receive, got, in, 0, p->in_place);
    } else if (p->kind == SCATTERV) {
        p->in_place = p->in_place && rooted;
        for (int peer = 0; peer < m->size; peer++)
            out[peer] = units_of(p, p->root, peer);
        if (rooted)
            varied_side(m, &m->send, sent, out, 1, 0);
        m->receive_elements = out[m->rank] / got->units;
        if (!p->in_place) {
            m->receive = area_new(got, m->receive_elements);
            area_expect(&m->receive, 0, out[m->rank], stream_of(p, p->root, m->rank));
        }
    } else {
        int target = p->kind == GATHERV ? p->root : 0, receives = p->kind == ALLGATHERV || rooted;
        p->in_place = p->in_place && receives;
        for (int peer = 0; peer < m->size; peer++)
            in[peer] = units_of(p, peer, target);
        m->send_elements = in[m->rank] / sent->units;
        if (!p->in_place) {
            m->send = area_new(sent, m->send_elements);
            area_fill(&m->send, 0, in[m->rank], stream_of(p, m->rank, target));
        }
        if (receives)
            varied_side(m, &m->receive, got, in, 0, p->in_place);
    }
    free(out);
    free(in);
}

/* Alltoallw: bytes as displacements and the type changes from peer to peer (the family is one, so the extent of the largest layout is the pitch). */
static void alltoallw_new(struct movement *m)
{
    struct plan *p = &m->plan;
    counts_new(m);
    const struct layout *whole = layout_of(p, 12, 0, 0);
    long pitch = 0;
    for (int i = 0; i < layout_count; i++)
        if (layouts[i].family == p->family && layouts[i].extent * 12 / layouts[i].units + 64 > pitch)
            pitch = layouts[i].extent * 12 / layouts[i].units + 64;
    long most = (p->units / 12 + 1) * pitch;
    struct layout *bytes = &layouts[0];
    for (int i = 0; i < layout_count; i++)
        if (layouts[i].family == 1 && layouts[i].units == 1)
            bytes = &layouts[i];
    (void)whole;
    for (int sending = 1; sending >= 0; sending--) {
        if (sending && p->in_place)
            continue;
        struct area *area = sending ? &m->send : &m->receive;
        *area = area_new(bytes, most * m->size + 128);
        for (int peer = 0; peer < m->size; peer++) {
            int low = peer < m->rank ? peer : m->rank, high = peer < m->rank ? m->rank : peer;
            long units = p->in_place ? units_of(p, low, high) : sending ? units_of(p, m->rank, peer) : units_of(p, peer, m->rank);
            const struct layout *layout = layout_of(p, 12, (sending ? p->send_choice : p->receive_choice) + (unsigned)peer, m->rank);
            long place = 64 + (m->size - 1 - peer) * most - layout->lowest;
            int *counts = sending ? m->send_counts : m->receive_counts, *places = sending ? m->send_places : m->receive_places;
            (sending ? m->send_counts_c : m->receive_counts_c)[peer] = counts[peer] = (int)(units / layout->units);
            (sending ? m->send_places_c : m->receive_places_c)[peer] = places[peer] = (int)place;
            (sending ? m->send_types : m->receive_types)[peer] = layout->type;
            struct area part = *area;
            part.layout = layout;
            part.buffer = area->buffer + place;
            if (sending || p->in_place)
                area_fill(&part, 0, units, stream_of(p, m->rank, peer));
            if (!sending)
                area_expect(&part, 0, units, stream_of(p, peer, m->rank));
        }
    }
}

__attribute__((unused)) static struct movement movement_new(MPI_Comm comm, const struct plan *plan)
{
    struct movement m = {.plan = *plan, .comm = comm, .request = MPI_REQUEST_NULL};
    MPI_Comm_rank(comm, &m.rank);
    MPI_Comm_size(comm, &m.size);
    m.plan.root %= m.size;
    if (m.plan.kind == ALLTOALLW)
        alltoallw_new(&m);
    else if (m.plan.kind == GATHERV || m.plan.kind == SCATTERV || m.plan.kind == ALLGATHERV || m.plan.kind == ALLTOALLV)
        varied_new(&m);
    else
        regular_new(&m);
    m.send_buffer = m.plan.in_place ? MPI_IN_PLACE : m.send.buffer;
    return m;
}

/* Issues NAME in the wanted form and width. */
#define ISSUE(NAME, LOWER, ...)                                                                                                        \
    do {                                                                                                                               \
        if (m->plan.form == BLOCKING)                                                                                                  \
            CALL(MPI_##NAME(__VA_ARGS__));                                                                                             \
        else if (m->plan.form == NONBLOCKING)                                                                                          \
            CALL(MPI_I##LOWER(__VA_ARGS__, &m->request));                                                                              \
        else if (m->request == MPI_REQUEST_NULL)                                                                                       \
            CALL(MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &m->request));                                                          \
    } while (0)
#define ISSUE_LARGE(NAME, LOWER, ...)                                                                                                  \
    do {                                                                                                                               \
        if (m->plan.form == BLOCKING)                                                                                                  \
            CALL(MPI_##NAME##_c(__VA_ARGS__));                                                                                         \
        else if (m->plan.form == NONBLOCKING)                                                                                          \
            CALL(MPI_I##LOWER##_c(__VA_ARGS__, &m->request));                                                                          \
        else if (m->request == MPI_REQUEST_NULL)                                                                                       \
            CALL(MPI_##NAME##_init_c(__VA_ARGS__, MPI_INFO_NULL, &m->request));                                                        \
    } while (0)
#define ISSUE_EITHER(NAME, LOWER, ...)                                                                                                 \
    do {                                                                                                                               \
        if (m->plan.large)                                                                                                             \
            ISSUE_LARGE(NAME, LOWER, __VA_ARGS__);                                                                                     \
        else                                                                                                                           \
            ISSUE(NAME, LOWER, __VA_ARGS__);                                                                                           \
    } while (0)

static void movement_issue_regular(struct movement *m)
{
    MPI_Datatype sent = m->send.layout ? m->send.layout->type : MPI_INT, got = m->receive.layout ? m->receive.layout->type : MPI_INT;
    int send = (int)m->send_elements, receive = (int)m->receive_elements, root = m->plan.root;
    void *in = m->plan.in_place && m->plan.kind == SCATTER ? MPI_IN_PLACE : m->receive.buffer;
    void *out = m->plan.kind == SCATTER ? m->send.buffer : m->send_buffer;
    switch (m->plan.kind) {
    case BARRIER:
        ISSUE(Barrier, barrier, m->comm);
        break;
    case BCAST:
        ISSUE_EITHER(Bcast, bcast, in, receive, got, root, m->comm);
        break;
    case GATHER:
        ISSUE_EITHER(Gather, gather, out, send, sent, in, receive, got, root, m->comm);
        break;
    case SCATTER:
        ISSUE_EITHER(Scatter, scatter, out, send, sent, in, receive, got, root, m->comm);
        break;
    case ALLGATHER:
        ISSUE_EITHER(Allgather, allgather, out, send, sent, in, receive, got, m->comm);
        break;
    case ALLTOALL:
        ISSUE_EITHER(Alltoall, alltoall, out, send, sent, in, receive, got, m->comm);
        break;
    default:
        break;
    }
}

static void movement_issue_varied(struct movement *m)
{
    MPI_Datatype sent = m->send.layout ? m->send.layout->type : MPI_INT, got = m->receive.layout ? m->receive.layout->type : MPI_INT;
    int send = (int)m->send_elements, receive = (int)m->receive_elements, root = m->plan.root, large = m->plan.large;
    void *in = m->receive.buffer, *out = m->send_buffer;
    switch (m->plan.kind) {
    case GATHERV:
        if (large)
            ISSUE_LARGE(Gatherv, gatherv, out, send, sent, in, m->receive_counts_c, m->receive_places_c, got, root, m->comm);
        else
            ISSUE(Gatherv, gatherv, out, send, sent, in, m->receive_counts, m->receive_places, got, root, m->comm);
        break;
    case SCATTERV:
        in = m->plan.in_place ? MPI_IN_PLACE : in;
        if (large)
            ISSUE_LARGE(Scatterv, scatterv, m->send.buffer, m->send_counts_c, m->send_places_c, sent, in, receive, got, root, m->comm);
        else
            ISSUE(Scatterv, scatterv, m->send.buffer, m->send_counts, m->send_places, sent, in, receive, got, root, m->comm);
        break;
    case ALLGATHERV:
        if (large)
            ISSUE_LARGE(Allgatherv, allgatherv, out, send, sent, in, m->receive_counts_c, m->receive_places_c, got, m->comm);
        else
            ISSUE(Allgatherv, allgatherv, out, send, sent, in, m->receive_counts, m->receive_places, got, m->comm);
        break;
    case ALLTOALLV:
        if (large)
            ISSUE_LARGE(Alltoallv, alltoallv, out, m->send_counts_c, m->send_places_c, sent, in, m->receive_counts_c, m->receive_places_c, got, m->comm);
        else
            ISSUE(Alltoallv, alltoallv, out, m->send_counts, m->send_places, sent, in, m->receive_counts, m->receive_places, got, m->comm);
        break;
    default:
        if (large)
            ISSUE_LARGE(Alltoallw, alltoallw, out, m->send_counts_c, m->send_places_c, m->send_types, in, m->receive_counts_c, m->receive_places_c,
                        m->receive_types, m->comm);
        else
            ISSUE(Alltoallw, alltoallw, out, m->send_counts, m->send_places, m->send_types, in, m->receive_counts, m->receive_places, m->receive_types,
                  m->comm);
        break;
    }
}

/* Calls the function: begins a collective, or initializes a persistent one that is not yet. */
static void movement_issue(struct movement *m)
{
    switch (m->plan.kind) {
    case BARRIER:
    case BCAST:
    case GATHER:
    case SCATTER:
    case ALLGATHER:
    case ALLTOALL:
        movement_issue_regular(m);
        break;
    default:
        movement_issue_varied(m);
        break;
    }
}

/* Initializes a persistent collective; does nothing for the other forms. */
__attribute__((unused)) static void movement_prepare(struct movement *m)
{
    if (m->plan.form == PERSISTENT)
        movement_issue(m);
}

/* Brings the buffers to their start and begins the collective; a blocking one is complete afterwards. */
__attribute__((unused)) static void movement_start(struct movement *m)
{
    area_reset(&m->send);
    area_reset(&m->receive);
    movement_issue(m);
    if (m->plan.form == PERSISTENT)
        CALL(MPI_Start(&m->request));
}

/* Checks the buffers of a completed collective. */
__attribute__((unused)) static void movement_check(const struct movement *m)
{
    for (int side = 0; side < 2; side++) {
        const struct area *area = side ? &m->receive : &m->send;
        long at = area_differs(area);
        CHECK(at == AREA_RIGHT, "%s %s%s%s of %ld units of family %d, root %d of %d, stream %u: byte %ld of the %s buffer (%s)", form_names[m->plan.form],
              kind_names[m->plan.kind], m->plan.large ? "_c" : "", m->plan.in_place ? " in place" : "", m->plan.units, m->plan.family, m->plan.root,
              m->size, m->plan.stream, at, side ? "receive" : "send", area->layout ? area->layout->name : "none");
    }
}

__attribute__((unused)) static void movement_free(struct movement *m)
{
    if (m->plan.form == PERSISTENT && m->request != MPI_REQUEST_NULL)
        CALL(MPI_Request_free(&m->request));
    area_free(&m->send);
    area_free(&m->receive);
    free(m->send_counts);
    free(m->send_counts_c);
    free(m->send_places_c);
    free(m->send_types);
}

/* Runs one plan from begin to end; a persistent one three times. */
__attribute__((unused)) static void movement_run(MPI_Comm comm, const struct plan *plan)
{
    struct movement m = movement_new(comm, plan);
    for (int round = 0; round < (plan->form == PERSISTENT ? 3 : 1); round++) {
        movement_start(&m);
        if (plan->form != BLOCKING)
            CALL(MPI_Wait(&m.request, MPI_STATUS_IGNORE));
        movement_check(&m);
    }
    movement_free(&m);
}

/* Everything of one kind: forms, widths, roots, in place, sizes, for some families of layouts. */
__attribute__((unused)) static void movement_families(MPI_Comm comm, enum kind kind, int alike, int first, int last)
{
    static const long sizes[] = {0, 1, 12, 7, 36, 1212, 60000};
    int size, rooted = kind == BCAST || kind == GATHER || kind == GATHERV || kind == SCATTER || kind == SCATTERV;
    unsigned stream = 1;
    MPI_Comm_size(comm, &size);
    for (int form = 0; form < FORMS; form++)
        for (int root = 0; root < (rooted ? size : 1); root++)
            for (int in_place = 0; in_place < (kind == BCAST || kind == BARRIER ? 1 : 2); in_place++)
                for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                    for (int family = first; family <= last; family++) {
                        stream++;
                        if (sizes[i] > 10000 && (stream + (unsigned)root) % 3)
                            continue;
                        struct plan plan = {.kind = kind, .form = (enum form)form, .in_place = in_place, .root = root, .family = family, .units = sizes[i],
                                            .large = (int)(stream % 2), .send_choice = stream, .receive_choice = stream / 3, .stream = stream, .alike = alike};
                        movement_run(comm, &plan);
                    }
}

__attribute__((unused)) static void movement_everything(MPI_Comm comm, enum kind kind)
{
    movement_families(comm, kind, 0, 0, FAMILIES - 1);
}

#endif
