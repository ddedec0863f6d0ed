/* Message-driven objects (chares): the C functions under towpath/chare.hpp, charm++/charm++.h and
 * the Python module. Programs include one of those. The semantics are those of the Charm++ manual.
 *
 * A language registers its types, entry methods and reducers, calls towpath_start on all ranks, on
 * rank 0 makes its main chares and calls towpath_begin, and lets all ranks call towpath_run.
 *
 * All functions are called by the thread that called towpath_start, which is the same for all jobs
 * of a process. Those that return int return 0, or -1 if they fail, unless another result is said:
 * towpath_error then gives a sentence. Pointers must not be null unless that is said, or they name
 * data of 0 bytes. Sizes are in bytes.
 */
#ifndef TOWPATH_ACTORS_H
#define TOWPATH_ACTORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The index of a chare in its collection: the coordinates of an array element, the rank of a branch
 * of a group, or the words of an index type of the program. Words that are not used are zero. */
typedef struct towpath_index {
    int32_t words[6];
    int32_t length;
} towpath_index;

/* Names a chare in the whole job. */
typedef struct towpath_chare_id {
    uint64_t collection;
    towpath_index index;
} towpath_chare_id;

/* The collection of the single chares of all ranks. */
#define TOWPATH_SINGLE_CHARES UINT64_MAX

/* Names a section, a subset of a collection, in the whole job. It can be sent. */
typedef struct towpath_section {
    uint64_t collection;
    uint32_t root; /* the rank that has made it */
    uint32_t number;
} towpath_section;

/* Who is told of a result. */

enum towpath_call {
    TOWPATH_CALL_NOBODY,
    TOWPATH_CALL_EXIT,
    TOWPATH_CALL_CHARE,   /* collection, index, entry, reference */
    TOWPATH_CALL_ALL,     /* collection, entry, reference */
    TOWPATH_CALL_FUNCTION, /* function on a rank: towpath_program.call_back */
    TOWPATH_CALL_SECTION  /* collection, root as rank, number as function, entry, reference */
};

typedef struct towpath_callback {
    uint32_t kind; /* of enum towpath_call */
    uint32_t entry;
    uint32_t reference;
    uint32_t rank;
    uint64_t collection;
    towpath_index index;
    uint64_t function;
} towpath_callback;

/* Messages. */

/* The message passes all that are not expedited. */
#define TOWPATH_EXPEDITED 1u
/* The message has a priority. */
#define TOWPATH_PRIORITY 2u
/* The payload is a value that a callback was told, such as the result of a reduction. */
#define TOWPATH_RESULT 8u
/* The message was sent to a section. */
#define TOWPATH_TO_SECTION 512u
/* In a message that a method was given: others read it too, so nobody may write to its payload. */
#define TOWPATH_SHARED 65536u

/* A message to a chare, or from one. */
typedef struct towpath_message {
    void *payload;      /* aligned to 16 bytes */
    size_t bytes;       /* of the payload */
    uint32_t entry;     /* number of the entry method */
    uint32_t flags;     /* of the above */
    int32_t priority;   /* smaller is more urgent; of a string of bits, the first 32 */
    uint32_t reference; /* the number by which a chare finds the message that it expects */
    void *memory;       /* the library's own */
    const void *arrays; /* the library's own */
    size_t array_count; /* read only */
} towpath_message;

/* Makes a message with a payload of so many bytes, whose content is arbitrary; entry, flags,
 * priority and reference are 0. It is sent, or freed, once. For more bytes than any machine has, the
 * payload is null, and sending it fails. */
void towpath_message_new(size_t bytes, towpath_message *message);
/* Makes one with a priority that is a string of bits, those of these words, each of which begins
 * with its most significant one: a string is more urgent than those that follow it in the order of
 * dictionaries. An integer is the string of its 32 bits with the sign flipped. Fails for more than
 * 1048576 bits. */
int towpath_message_new_prioritized(size_t bytes, const uint32_t *words, uint32_t bits,
                                    towpath_message *message);
/* Frees a message that was made and not sent, or that was kept. */
void towpath_message_free(towpath_message *message);
/* In an entry method: the message that it was given belongs to the program, which frees it. The
 * payload and the arrays may move: arrays that their sender waits for are copied. */
void towpath_message_keep(towpath_message *message);
/* The same, but arrays stay where they are, and their sender waits until the message is freed. */
void towpath_message_hold(towpath_message *message);

/* The length, in bytes, from which on arrays are sent faster beside the payload of a message than
 * in it. It depends on whether all ranks share memory, and on how many arrays of messages are there
 * at the moment; it is at least TOWPATH_SHORTEST_ARRAY. */
#define TOWPATH_SHORTEST_ARRAY ((size_t)16 << 10)
size_t towpath_shortest_array(void);

/* Adds an array, which is sent from where it is, without a copy where that is possible. It must not
 * change until the callback, which may be null, is told; that is when no receiver reads it any more.
 * Returns its number in the message, or -1. */
int towpath_message_add_array(towpath_message *message, const void *data, size_t bytes,
                              const towpath_callback *done);
/* Adds an array with a copy of these bytes, in memory that other ranks can read if there is such. It
 * is faster than as much payload for long arrays. Returns its number in the message, or -1. */
int towpath_message_add_copy(towpath_message *message, const void *data, size_t bytes);
/* Adds an array of so many bytes to be written, in memory that other ranks can read if there is such:
 * towpath_message_own_array gives it. Returns its number in the message, or -1. */
int towpath_message_add_new(towpath_message *message, size_t bytes);
/* Adds an array with a copy of what so many elements of an MPI datatype describe, one behind the
 * other. The datatype is a handle of the MPI library of the process, as a number. It must be
 * committed. Returns its number in the message, or -1. */
int towpath_message_add_strided(towpath_message *message, const void *data, size_t count,
                                uintptr_t datatype);
/* As towpath_message_add_array, for a message to one chare whose method says where the array is to
 * be (towpath_place). It is not received before, unless both ranks share memory (of private
 * arrays: up to 4 MiB) or it is short. */
int towpath_message_add_posted_array(towpath_message *message, const void *data, size_t bytes,
                                     const towpath_callback *done);
/* The same for an array in the memory of a device, which the MPI library must know. Work that
 * writes it must be complete. The memory that towpath_place names for it may be that of a device
 * too. */
int towpath_message_add_device_array(towpath_message *message, const void *data, size_t bytes,
                                     const towpath_callback *done);
/* Waits until all work of a stream is complete. The stream is one of CUDA or HIP, whichever the
 * process has loaded; without either this returns at once. Null is the default stream of the
 * current device. */
int towpath_synchronize_stream(void *stream);
/* An array of a message that a method was given, which must not write to it, or of a message that
 * was kept: its memory, which lasts as long as the message. Null with 0 bytes if there is none, and
 * null with its length if it has not been received. */
const void *towpath_message_array(const towpath_message *message, uint32_t number, size_t *bytes);
/* The section to which a message of a method, or one that was kept, was sent. Fails if it was not
 * sent to one. */
int towpath_message_section(const towpath_message *message, towpath_section *section);
/* An array of a message that was made, kept or held, which the program may write to until it sends
 * or frees the message; or of the message that the running method was given, and no copy of the
 * structure, until it returns. Null with 0 bytes if others may read it too: it was broadcast, or
 * its sender waits. */
void *towpath_message_own_array(towpath_message *message, uint32_t number, size_t *bytes);

/* Where the first bytes of an array of a message are to be. */
typedef struct towpath_placement {
    uint32_t array; /* its number in the message */
    void *memory;
    size_t bytes;          /* as many as the array has, or fewer */
    uint32_t is_on_device; /* whether the memory is that of a device */
} towpath_placement;

/* The arrays of a message, which was kept or held, wait until the program says where they are to be
 * by towpath_place: quiescence waits for that too. If nothing else is left to do on any rank, the
 * job ends with a sentence that says what this awaits, as in "an array waits for memory"; but not
 * if one of the arrays is long, and has not been received because its rank shares no memory. */
int towpath_await_place(towpath_message *message, const char *awaited);

/* Fills memory of this rank from arrays of a message, which was kept or held, and when that is done
 * invokes a method of a chare by another message. Arrays that have not been received arrive there
 * without a copy. The memory must stay until then, and so must the chare (towpath_pin). Both
 * messages are the library's afterwards, also when this fails. */
int towpath_place(towpath_message *from, const towpath_placement *placements, size_t count,
                  const towpath_chare_id *id, towpath_message *then);

/* A persistent channel: memory of a chare, into which others put arrays again and again. It can be
 * sent. */
typedef struct towpath_channel {
    towpath_chare_id chare;
    uint32_t rank;
    uint32_t number;
    size_t bytes;
    uint64_t place; /* the library's own */
} towpath_channel;

/* Opens a channel of a chare of this rank, which is pinned until the channel is closed. The memory
 * must stay until then. */
int towpath_open_channel(const towpath_chare_id *id, void *memory, size_t bytes,
                         towpath_channel *channel);
/* Closes a channel of this rank, into which nobody puts anything any more. */
int towpath_close_channel(const towpath_channel *channel);
/* Writes an array, which is not in the memory of the channel itself, to the beginning of that
 * memory, and then invokes a method of its chare by a message, which belongs to the library then.
 * Nobody asks whether the chare has read what was there before: programs know that, as neighbours
 * do that exchange arrays by two channels each in turn. The callback is told when the array may
 * change; if it is null that is at once. */
int towpath_put(const towpath_channel *channel, const void *data, size_t bytes,
                const towpath_callback *done, towpath_message *then);

/* What a program has. Numbers are given by towpath_start: types, entry methods and reducers are
 * numbered in the order of their names, which must be unique and the same on all ranks. These
 * structures are used until the job has ended. A function that fails calls towpath_fail. */

typedef struct towpath_type {
    const char *name;
    void *context; /* given to the functions */
    /* How many bytes pack will need. Null with pack and unpack: objects do not migrate. */
    size_t (*packed_bytes)(void *context, void *object);
    void (*pack)(void *context, void *object, void *into, size_t bytes);
    void *(*unpack)(void *context, const towpath_chare_id *id, const void *packed, size_t bytes);
    void (*destroy)(void *context, void *object);
    uint32_t number;
} towpath_type;

/* In packed_bytes and pack: 1 if the object leaves this rank, and is destroyed then; 0 if it stays,
 * because a balancer asks for its size, or it is written to a checkpoint. */
int towpath_leaves(void);

/* The entry method runs on a user-level thread, and may suspend itself. */
#define TOWPATH_THREADED 1u
/* After load balancing, chares of this type go on with this entry method, or those of all types that
 * have none, if its type is null. Its message is empty. */
#define TOWPATH_RESUMES 2u

typedef struct towpath_entry {
    const char *name; /* as in "Cell::receive" */
    void *context;
    uint32_t flags;
    uint32_t number;
    /* Of a constructor: the type of what it makes, which is registered. See TOWPATH_RESUMES. */
    const towpath_type *type;
    /* One of both. A constructor returns the object. The message is the library's unless it is
     * kept. */
    void *(*construct)(void *context, const towpath_chare_id *id, towpath_message *message);
    void (*invoke)(void *context, void *object, const towpath_chare_id *id,
                   towpath_message *message);
} towpath_entry;

/* Reducers that every program has: TOWPATH_REDUCER(TOWPATH_SUM, TOWPATH_F64) combines arrays of
 * numbers one by one. All contributions to a reduction have as many. */
#define TOWPATH_REDUCER(operation, number) ((uint32_t)(operation)*256u + (uint32_t)(number))

enum towpath_operation {
    TOWPATH_SUM = 1, /* whole numbers wrap */
    TOWPATH_PRODUCT,
    TOWPATH_MIN,
    TOWPATH_MAX,
    TOWPATH_LOGICAL_AND, /* 0 or 1; of whole numbers only, as all that follow */
    TOWPATH_LOGICAL_OR,
    TOWPATH_LOGICAL_XOR,
    TOWPATH_BIT_AND,
    TOWPATH_BIT_OR,
    TOWPATH_BIT_XOR
};

enum towpath_number {
    TOWPATH_I8 = 1,
    TOWPATH_I16,
    TOWPATH_I32,
    TOWPATH_I64,
    TOWPATH_U8,
    TOWPATH_U16,
    TOWPATH_U32,
    TOWPATH_U64,
    TOWPATH_F32,
    TOWPATH_F64
};

/* Others that every program has. Those of the program have greater numbers. */
enum towpath_reducers {
    TOWPATH_NOP = 1,    /* no value: all have contributed */
    TOWPATH_CONCAT,     /* all values, one behind the other, in any order */
    TOWPATH_SET,        /* all values in any order: the result is a list (towpath_parts) */
    TOWPATH_STATISTICS, /* of arrays of towpath_statistics */
    TOWPATH_TUPLE,      /* several at once (towpath_contribute_tuple); the result is a list */
    TOWPATH_RANDOM      /* one of the values, each with the same probability */
};

/* What is known of numbers; one number is {1, number, 0}. */
typedef struct towpath_statistics {
    uint64_t count;
    double mean;
    double squares; /* the sum of (number - mean)^2: divided by count it is the variance */
} towpath_statistics;

/* A value of a set, or one of a tuple with its reducer. */
typedef struct towpath_part {
    uint32_t reducer; /* 0 in a set */
    const void *data; /* in the list, at any address */
    size_t bytes;
} towpath_part;

/* Says how many parts the result of a set or tuple has, and writes them as far as there is room: if
 * there is none, parts may be null. Fails if these bytes are no such result. */
int towpath_parts(const void *list, size_t bytes, towpath_part *parts, size_t room, size_t *count);

/* A value of a reduction that the library keeps. */
typedef struct towpath_value towpath_value;

/* A reducer of the program. */
typedef struct towpath_reducer {
    const char *name;
    void *context;
    /* Combines a second value into the first. Of the library it may call towpath_value_*,
     * towpath_rank, towpath_ranks and towpath_fail; other functions fail. */
    void (*combine)(void *context, towpath_value *into, const void *value, size_t bytes);
    uint32_t number;
} towpath_reducer;

void *towpath_value_data(towpath_value *value);
size_t towpath_value_bytes(const towpath_value *value);
/* The data may move. Bytes that are added are 0. */
void towpath_value_resize(towpath_value *value, size_t bytes);

void towpath_register_type(towpath_type *type);
void towpath_register_entry(towpath_entry *entry);
void towpath_register_reducer(towpath_reducer *reducer);

/* The method or function of the program that is running has failed, for this reason: the job ends
 * with a sentence that names it once it has returned. */
void towpath_fail(const char *reason);
/* Why the last function has failed. Valid until the next one fails. */
const char *towpath_error(void);

/* The job. */

/* The version of this library, a text such as "Towpath 1.0". May be called at any time. */
const char *towpath_version(void);

typedef struct towpath_program {
    void *context;
    /* Takes in the read-only data on ranks other than 0. May be null. */
    void (*read_only)(void *context, const void *data, size_t bytes);
    /* Is told of a result (TOWPATH_CALL_FUNCTION). May be null. */
    void (*call_back)(void *context, uint64_t function, const void *value, size_t bytes);
} towpath_program;

/* Opens the MPI library of the process, which it initializes if nobody has. Collective over
 * MPI_COMM_WORLD. What is registered must be registered before. */
int towpath_start(const towpath_program *program);
uint32_t towpath_rank(void);
uint32_t towpath_ranks(void);
/* On rank 0, once: the other ranks take in the read-only data, and begin. Until then they keep what
 * arrives. Fails on another rank. If towpath_fail was called before, the job ends. */
int towpath_begin(const void *read_only, size_t bytes);
/* Runs the scheduler until the job ends, and gives its code. When it fails, the code is 1. */
int towpath_run(int *code);
/* Ends all communication. Collective, after towpath_run; finalizes MPI if towpath_start has
 * initialized it, and then there is no other job. */
void towpath_stop(void);
/* Sends all messages now. Messages leave when the running method has returned, or before, if the
 * program has not initialized MPI itself: a method that waits for another rank in some other way
 * calls this first. */
void towpath_flush(void);
/* Ends the job on all ranks with this code. Returns. */
void towpath_exit(int code);

/* Collections and chares. */

enum towpath_map {
    TOWPATH_BLOCK,       /* dense array, blocks of equal size in row-major order */
    TOWPATH_ROUND_ROBIN, /* dense array, round robin in row-major order */
    TOWPATH_HASH,        /* any indexes; begins empty */
    TOWPATH_GROUP        /* one branch on each rank */
};

typedef struct towpath_collection {
    uint32_t type;        /* number of the type of its chares */
    uint32_t constructor; /* of the chares that it begins with */
    uint32_t map;         /* of enum towpath_map */
    uint32_t dimensions;  /* 0 without extents */
    uint32_t extents[6];
    int32_t is_filled;    /* it begins with a chare for every index */
} towpath_collection;

/* Makes a collection, whose first chares get these parameters. */
int towpath_create_collection(const towpath_collection *options, const void *parameters,
                              size_t bytes, uint64_t *collection);
/* Makes a single chare on a rank, or on this one if rank is -1. */
int towpath_create_chare(uint32_t constructor, int rank, const void *parameters, size_t bytes,
                         towpath_chare_id *id);
/* Inserts an element of an array, on a rank, or on the home of its index if rank is -1. */
int towpath_insert(const towpath_chare_id *id, uint32_t constructor, int rank,
                   const void *parameters, size_t bytes);
/* All elements that this rank has inserted are the first ones: reductions may begin. */
void towpath_done_inserting(uint64_t collection);
/* The object of a chare, or null if it is not on this rank. */
void *towpath_local(const towpath_chare_id *id);
/* Of a chare on this rank, once its running method has returned. */
int towpath_migrate(const towpath_chare_id *id, uint32_t rank);
int towpath_destroy(const towpath_chare_id *id);

/* Sends a message, which belongs to the library then, to one chare or to all of a collection. When
 * this fails the message has been freed. */
int towpath_invoke(const towpath_chare_id *id, towpath_message *message);
int towpath_broadcast(uint64_t collection, towpath_message *message);

/* Callbacks and reductions. */

/* Gives a value to a callback. */
int towpath_call_back(const towpath_callback *callback, const void *value, size_t bytes);
/* Contributes a value to the next reduction of a chare's collection. The callback may be null if
 * another contribution has one. */
int towpath_contribute(const towpath_chare_id *id, uint32_t reducer, const void *value,
                       size_t bytes, const towpath_callback *callback);
/* Contributes values to several reducers at once, the same ones in all contributions, in the same
 * order; none is a tuple. The section may be null: then this is a reduction of the collection. */
int towpath_contribute_tuple(const towpath_chare_id *id, const towpath_section *section,
                             const towpath_part *parts, size_t count,
                             const towpath_callback *callback);
/* On the rank that has made a collection: who is told of results of reductions over it, if no
 * contribution has a callback. */
int towpath_set_reduction_client(uint64_t collection, const towpath_callback *client);
/* The number of the next reduction of a chare: of each reduction, it is the same for all that
 * contribute. */
int towpath_next_reduction(const towpath_chare_id *id, uint32_t *number);
/* Tells a callback when no message is left anywhere. */
int towpath_start_quiescence(const towpath_callback *callback);
/* Tells a callback after so many nanoseconds, once the method that runs then has returned.
 * Quiescence waits for that. */
int towpath_call_after(uint64_t nanoseconds, const towpath_callback *callback);
/* Calls a function of this rank (towpath_program.call_back), once, when this rank has nothing to
 * do. Quiescence does not wait for that, but the job goes on until then. */
int towpath_call_when_idle(uint64_t function);

/* Sections. */

/* Makes a section of the chares with these indexes, which exist or are made later: until then
 * multicasts wait. A chare that is deleted is a member no more, nor is a later one of its index. */
int towpath_create_section(uint64_t collection, const towpath_index *members, size_t count,
                           towpath_section *section);
/* Sends a message to all members, as towpath_broadcast. */
int towpath_multicast(const towpath_section *section, towpath_message *message);
/* As towpath_contribute and towpath_next_reduction, over a section to which a chare belongs: it
 * knows that once it has had a multicast. */
int towpath_contribute_to_section(const towpath_chare_id *id, const towpath_section *section,
                                  uint32_t reducer, const void *value, size_t bytes,
                                  const towpath_callback *callback);
/* As towpath_set_reduction_client, on the rank that has made a section. */
int towpath_set_section_client(const towpath_section *section, const towpath_callback *client);
int towpath_next_section_reduction(const towpath_chare_id *id, const towpath_section *section,
                                   uint32_t *number);
/* Returns 1 if a section is of before the restart: it exists no more, and the program makes it
 * again. Else 0. */
int towpath_is_old_section(const towpath_section *section);
/* Returns how many sections a chare of this rank knows that it belongs to, and writes their names
 * as far as there is room: if there is none, sections may be null. */
size_t towpath_sections(const towpath_chare_id *id, towpath_section *sections, size_t room);

/* Methods that wait. */

/* A user-level thread. */
typedef struct towpath_thread towpath_thread;

/* The user-level thread that runs, or null. */
towpath_thread *towpath_thread_self(void);
/* Suspends the user-level thread that runs until another method awakens it. Its chare cannot
 * migrate meanwhile. Fails if none runs. */
int towpath_thread_suspend(void);
/* Lets a thread that is suspended, or about to be, run again once the running method has returned.
 * Fails if it has ended. */
int towpath_thread_awaken(towpath_thread *thread);

/* For coroutines. A chare with a suspended method is pinned: it cannot migrate. */
int towpath_pin(const towpath_chare_id *id);
void towpath_unpin(const towpath_chare_id *id);
/* Around code of a chare that runs outside of its entry methods, on its rank: what the chare decides
 * about itself is done at the end. */
int towpath_enter(const towpath_chare_id *id);
void towpath_leave(const towpath_chare_id *id);

/* Load balancing. */

/* Who balances loads: "none", as without this call, "greedy", "refine" or "hierarchical"; "rotate"
 * and "random" for tests. Called before towpath_start, on all ranks alike. The setting
 * TOWPATH_CHARES_BALANCER of the user is stronger. */
int towpath_set_balancer(const char *name);
/* Elements of an array will call towpath_at_sync: those of other arrays wait for them from now on.
 * Arrays of types with an entry method TOWPATH_RESUMES of their own need no call. */
void towpath_join_balancing(uint64_t collection);
/* An element of an array on this rank is ready for load balancing, and may migrate once its running
 * method has returned. It goes on (TOWPATH_RESUMES) when all elements of all arrays that take part
 * are ready and have migrated; without a balancer at once. Messages reach it meanwhile. Fails if it
 * is ready already. */
int towpath_at_sync(const towpath_chare_id *id);

/* Checkpoints. */

/* Writes all chares to files in a directory, which is made if it does not exist and which all ranks
 * see. Begins when no message is left anywhere, so the program sends none until the callback is
 * told, with nothing. If there can be no checkpoint, the job ends with a sentence if it is required,
 * else the callback gets the sentence. A checkpoint replaces the one in the directory when it is
 * whole. The callback is told after each restart too. Sections are not saved: a program makes them
 * again. */
int towpath_checkpoint(const char *directory, int is_required, const towpath_callback *callback);
/* Restarts from a checkpoint, on any number of ranks. All ranks call this after towpath_start, and
 * rank 0 makes no chares then, and does not call towpath_begin. If the directory is null, it is that
 * of the setting TOWPATH_CHARES_RESTART; restarts is 0 if there is none. If the checkpoint cannot be
 * read, or another program has written it, the job ends: towpath_run fails. */
int towpath_restart(const char *directory, int *restarts);

#ifdef __cplusplus
}
#endif

#endif
