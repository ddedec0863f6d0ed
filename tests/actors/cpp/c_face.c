/* The C functions: user-level threads, messages that are kept, and wrong calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_object.h"

static uint64_t array;
static int calls_back;

static void *construct(void *context, const towpath_chare_id *id, towpath_message *message) {
    (void)context;
    array = id->collection;
    Object *object = calloc(1, sizeof *object);
    object->index = id->index.words[0];
    CHECK(message->bytes == 4 && memcmp(message->payload, "make", 4) == 0);
    /* A constructor may keep its message too. */
    towpath_message_keep(message);
    CHECK(memcmp(message->payload, "make", 4) == 0);
    towpath_message_free(message);
    /* Also if the main function makes it: the library is in use. */
    int code = 0;
    CHECK(towpath_run(&code) == -1 && code == 1);
    towpath_stop();
    return object;
}

/* Uses the stack, which is there again after each suspension. */
static int descend(int depth) {
    volatile char used[1024];
    memset((char *)used, depth & 127, sizeof used);
    if (depth == 0)
        towpath_thread_suspend();
    int below = depth == 0 ? 0 : descend(depth - 1);
    return used[1023] == (depth & 127) ? below + 1 : 0;
}

static void wait(void *context, void *target, const towpath_chare_id *id,
                 towpath_message *message) {
    (void)context;
    Object *object = target;
    int depth;
    memcpy(&depth, message->payload, sizeof depth);
    towpath_thread *self = towpath_thread_self();
    CHECK(self != NULL);
    object->waiting[object->count++] = self;
    CHECK(descend(depth) == depth + 1);
    CHECK(towpath_thread_self() == self);
    /* The message, and the name, are there as long as the method runs. */
    int again;
    memcpy(&again, message->payload, sizeof again);
    CHECK(again == depth && id->index.words[0] == object->index);
    ++object->finished;
}

static void awaken(void *context, void *target, const towpath_chare_id *id,
                   towpath_message *message) {
    (void)context, (void)id, (void)message;
    Object *object = target;
    CHECK(towpath_thread_self() == NULL);
    CHECK(towpath_thread_suspend() == -1 && strstr(towpath_error(), "user-level thread"));
    for (int at = object->count; at-- > 0;)
        CHECK(towpath_thread_awaken(object->waiting[at]) == 0);
}

static void wrong_awaken(void *context, void *target, const towpath_chare_id *id,
                         towpath_message *message) {
    (void)context, (void)id, (void)message;
    Object *object = target;
    CHECK(object->finished == threads && object->count == threads);
    CHECK(towpath_thread_awaken(object->waiting[0]) == -1);
    CHECK(strstr(towpath_error(), "has ended"));
    CHECK(towpath_thread_awaken(NULL) == -1);
}

static void move(void *context, void *target, const towpath_chare_id *id,
                 towpath_message *message) {
    (void)context, (void)target, (void)message;
    CHECK(towpath_migrate(id, (towpath_rank() + 1) % towpath_ranks()) == 0);
    CHECK(towpath_migrate(id, towpath_ranks()) == -1 && strstr(towpath_error(), "ranks"));
}

static void keep(void *context, void *target, const towpath_chare_id *id,
                 towpath_message *message) {
    (void)context, (void)id;
    Object *object = target;
    towpath_message_keep(message);
    towpath_message_keep(message);
    object->kept[object->keeps++] = *message;
    if (object->keeps < kept_messages)
        return;
    for (int at = 0; at < kept_messages; ++at) {
        const unsigned char *bytes = object->kept[at].payload;
        for (size_t byte = 0; byte < object->kept[at].bytes; ++byte)
            CHECK(bytes[byte] == object->kept[at].reference);
        towpath_message_free(&object->kept[at]);
        towpath_message_free(&object->kept[at]);
    }
    object->keeps = 0;
    ++object->finished;
}

/* Passes a message on: it is kept, and sent again. */
static towpath_entry pass_on_entry;
static void pass_on(void *context, void *target, const towpath_chare_id *id,
                    towpath_message *message) {
    (void)context;
    Object *object = target;
    ++object->finished;
    /* It has not been kept, so it cannot be sent. */
    CHECK(towpath_invoke(id, message) == -1 && strstr(towpath_error(), "not kept"));
    int32_t *left = message->payload;
    if (*left == 0)
        return;
    towpath_message_keep(message);
    left = message->payload;
    --*left;
    towpath_chare_id next = *id;
    next.index.words[0] = (next.index.words[0] + 1) % elements;
    CHECK(message->entry == pass_on_entry.number);
    CHECK(towpath_invoke(&next, message) == 0);
    /* It is the library's now. */
    CHECK(towpath_invoke(&next, message) == -1 && strstr(towpath_error(), "sent or freed"));
    towpath_message_free(message);
}

static towpath_reducer reducer;
static void report(void *context, void *target, const towpath_chare_id *id,
                   towpath_message *message) {
    (void)context;
    Object *object = target;
    towpath_callback callback;
    memcpy(&callback, message->payload, sizeof callback);
    int64_t finished = object->finished;
    CHECK(towpath_contribute(id, reducer.number, &finished, sizeof finished, &callback) == 0);
}

/* The runtime is busy while a reducer runs. */
static void test_calls_of_reducer(void) {
    towpath_chare_id id = {.collection = array, .index = {.length = 1}};
    towpath_program program = {0};
    towpath_message message;
    int code;
    CHECK(towpath_rank() < towpath_ranks());
    CHECK(towpath_contribute(&id, reducer.number, NULL, 0, NULL) == -1);
    CHECK(strstr(towpath_error(), "a reducer has called"));
    towpath_message_new(8, &message);
    CHECK(towpath_invoke(&id, &message) == -1 && towpath_start(&program) == -1);
    CHECK(towpath_thread_suspend() == -1 && towpath_run(&code) == -1);
    towpath_stop();
}

static void combine(void *context, towpath_value *into, const void *value, size_t bytes) {
    (void)context;
    int64_t sum, more;
    CHECK(bytes == sizeof more && towpath_value_bytes(into) == sizeof sum);
    memcpy(&sum, towpath_value_data(into), sizeof sum);
    memcpy(&more, value, sizeof more);
    sum += more;
    test_calls_of_reducer();
    towpath_value_resize(into, 0);
    towpath_value_resize(into, sizeof sum);
    memcpy(towpath_value_data(into), &sum, sizeof sum);
}

static towpath_entry constructor = {.name = "make", .construct = construct, .type = &type};
static towpath_entry wait_entry = {.name = "wait", .invoke = wait, .flags = TOWPATH_THREADED};
static towpath_entry awaken_entry = {.name = "awaken", .invoke = awaken};
static towpath_entry wrong_entry = {.name = "wrong awaken", .invoke = wrong_awaken};
static towpath_entry move_entry = {.name = "move", .invoke = move};
static towpath_entry keep_entry = {.name = "keep", .invoke = keep};
static towpath_entry pass_on_entry = {.name = "pass on", .invoke = pass_on};
static towpath_entry report_entry = {.name = "report", .invoke = report};
static towpath_reducer reducer = {.name = "sum", .combine = combine};

static void broadcast(const towpath_entry *entry, const void *bytes, size_t count, uint32_t reference) {
    towpath_message message;
    towpath_message_new(count, &message);
    if (count > 0)
        memcpy(message.payload, bytes, count);
    message.entry = entry->number;
    message.reference = reference;
    CHECK(towpath_broadcast(array, &message) == 0);
}

static towpath_callback function(uint64_t number) {
    towpath_callback callback = {.kind = TOWPATH_CALL_FUNCTION, .function = number};
    return callback;
}

static void quiescence(uint64_t number) {
    towpath_callback callback = function(number);
    CHECK(towpath_start_quiescence(&callback) == 0);
}

static void reported(uint64_t number) {
    towpath_callback callback = function(number);
    broadcast(&report_entry, &callback, sizeof callback, 0);
}

static void test_broken_messages(void) {
    towpath_chare_id id = {.collection = array, .index = {.length = 1}};
    towpath_message message;
    towpath_message_new(10, &message);
    message.entry = move_entry.number;
    message.bytes = 1 << 20;
    CHECK(towpath_invoke(&id, &message) == -1 && strstr(towpath_error(), "may shrink"));
    towpath_message_new(10, &message);
    message.bytes = (size_t)-1;
    towpath_message_free(&message);
    towpath_message_new((size_t)-1, &message);
    CHECK(message.payload == NULL && message.bytes == 0);
    CHECK(towpath_invoke(&id, &message) == -1 && strstr(towpath_error(), "more bytes than"));
    towpath_message_new(0, &message);
    CHECK(towpath_message_add_array(&message, "x", (size_t)-8, NULL) == -1);
    CHECK(towpath_message_add_copy(&message, "x", (size_t)-8) == -1);
    CHECK(towpath_message_add_posted_array(&message, "x", (size_t)-8, NULL) == -1);
    CHECK(towpath_message_add_new(&message, (size_t)-8) == -1);
    CHECK(strstr(towpath_error(), "longer than any memory") && message.array_count == 0);
    id.index.length = 7;
    CHECK(towpath_invoke(&id, &message) == -1 && strstr(towpath_error(), "0 to 6 words"));
    id.index.length = 1;
    id.index.words[0] = elements;
    towpath_message_new(0, &message);
    CHECK(towpath_invoke(&id, &message) == -1 && strstr(towpath_error(), "no element"));
    towpath_callback callback = {.kind = 9};
    CHECK(towpath_call_back(&callback, NULL, 0) == -1 && strstr(towpath_error(), "kind 9"));
    callback = function(1);
    callback.rank = towpath_ranks();
    CHECK(towpath_call_back(&callback, NULL, 0) == -1 && strstr(towpath_error(), "ranks"));
    int code;
    CHECK(towpath_run(&code) == -1);
    towpath_stop();
}

/* One step after the other, each when the one before has ended. */
static void call_back(void *context, uint64_t step, const void *value, size_t bytes) {
    (void)context;
    int64_t sum = 0;
    if (bytes == sizeof sum)
        memcpy(&sum, value, sizeof sum);
    ++calls_back;
    switch (step) {
    case 1:
        for (int at = 0; at < threads; ++at)
            broadcast(&wait_entry, &(int){at % 4 == 0 ? 600 : at % 4}, sizeof(int), 0);
        quiescence(2);
        break;
    case 2:
        broadcast(&awaken_entry, NULL, 0, 0);
        quiescence(3);
        break;
    case 3:
        broadcast(&wrong_entry, NULL, 0, 0);
        reported(4);
        break;
    case 4:
        CHECK(sum == (int64_t)elements * threads);
        broadcast(&move_entry, NULL, 0, 0);
        broadcast(&move_entry, NULL, 0, 0);
        quiescence(5);
        break;
    case 5:
        for (uint32_t at = 0; at < 2 * kept_messages; ++at) {
            unsigned char bytes[50000];
            memset(bytes, (int)at, sizeof bytes);
            broadcast(&keep_entry, bytes, at % 3 == 0 ? sizeof bytes : at, at);
        }
        reported(6);
        break;
    case 6: {
        CHECK(sum == (int64_t)elements * (threads + 2));
        towpath_chare_id id = {.collection = array, .index = {.length = 1}};
        towpath_message message;
        towpath_message_new(8, &message);
        memcpy(message.payload, &(int32_t){100}, 4);
        message.bytes = 4;
        message.entry = pass_on_entry.number;
        CHECK(towpath_invoke(&id, &message) == 0);
        quiescence(7);
        break;
    }
    case 7:
        reported(8);
        break;
    default:
        CHECK(step == 8 && sum == (int64_t)elements * (threads + 2) + 101);
        test_broken_messages();
        CHECK(calls_back == 8);
        puts("ok");
        towpath_exit(0);
    }
}

static void *of_other_thread(void *unused) {
    (void)unused;
    towpath_message message;
    towpath_message_new(1, &message);
    towpath_chare_id id = {.collection = array};
    int status = towpath_invoke(&id, &message);
    return status == -1 && strstr(towpath_error(), "by this thread") ? &array : NULL;
}

static int before_start(void) {
    towpath_chare_id id = {0};
    towpath_callback callback = {0};
    towpath_message message;
    towpath_message_new(100, &message);
    int code = 5;
    int failed = towpath_invoke(&id, &message) + towpath_migrate(&id, 0) + towpath_run(&code) +
                 towpath_begin(NULL, 0) + towpath_start_quiescence(&callback) +
                 towpath_call_back(&callback, NULL, 0) + towpath_pin(&id) + towpath_destroy(&id);
    towpath_exit(0);
    towpath_done_inserting(0);
    towpath_unpin(&id);
    return failed == -8 && code == 1 && strstr(towpath_error(), "towpath_start") &&
           towpath_rank() == 0 && towpath_ranks() == 1 && towpath_local(&id) == NULL &&
           towpath_thread_self() == NULL;
}

int main(void) {
    if (!before_start())
        return 20;
    towpath_register_type(&type);
    towpath_entry *entries[] = {&constructor, &wait_entry,   &awaken_entry,  &wrong_entry,
                                &move_entry,  &keep_entry,   &pass_on_entry, &report_entry};
    for (size_t at = 0; at < sizeof entries / sizeof *entries; ++at)
        towpath_register_entry(entries[at]);
    towpath_register_reducer(&reducer);
    towpath_program program = {.call_back = call_back};
    if (towpath_start(&program) != 0) {
        fprintf(stderr, "%s\n", towpath_error());
        return 21;
    }
    pthread_t thread;
    void *is_well = NULL;
    if (pthread_create(&thread, NULL, of_other_thread, NULL) != 0 ||
        pthread_join(thread, &is_well) != 0 || !is_well || towpath_start(&program) != -1)
        return 22;
    if (towpath_rank() == 0) {
        towpath_collection options = {.type = type.number,
                                      .constructor = constructor.number,
                                      .map = 7,
                                      .dimensions = 1,
                                      .extents = {elements},
                                      .is_filled = 1};
        if (towpath_create_collection(&options, "make", 4, &array) != -1)
            return 23;
        options.map = TOWPATH_ROUND_ROBIN;
        options.dimensions = 7;
        if (towpath_create_collection(&options, "make", 4, &array) != -1)
            return 24;
        options.dimensions = 1;
        if (towpath_create_collection(&options, "make", 4, &array) != 0)
            return 25;
        quiescence(1);
        towpath_begin(NULL, 0);
    } else if (towpath_begin(NULL, 0) != -1) {
        return 26;
    }
    int code;
    if (towpath_run(&code) != 0)
        fprintf(stderr, "rank %u: %s\n", towpath_rank(), towpath_error());
    towpath_stop();
    return code;
}
