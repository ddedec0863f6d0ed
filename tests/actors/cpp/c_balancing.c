/* Load balancing and checkpoints by the C functions, and wrong calls of them. */
#include <stdio.h>

#include "c_object.h"

enum { went_on = 1, not_written = 2 };

static uint64_t array;

/* The call has failed with a sentence that has these words. */
static int fails(int status, const char *words) {
    return status == -1 && strstr(towpath_error(), words) != NULL;
}

static void *construct(void *context, const towpath_chare_id *id, towpath_message *message) {
    (void)context, (void)message;
    Object *object = calloc(1, sizeof *object);
    object->index = id->index.words[0];
    object->finished = (int32_t)towpath_rank();
    return object;
}

static void get_ready(void *context, void *target, const towpath_chare_id *id,
                      towpath_message *message) {
    (void)context, (void)target, (void)message;
    int restarts = 5;
    CHECK(towpath_at_sync(id) == 0);
    CHECK(fails(towpath_at_sync(id), "waits for load balancing already"));
    CHECK(fails(towpath_restart("somewhere", &restarts), "by a method") && restarts == 0);
    CHECK(fails(towpath_set_balancer("none"), "after towpath_start"));
}

static void barrier(void *context, towpath_value *into, const void *value, size_t bytes) {
    (void)context, (void)into, (void)value, (void)bytes;
}

static towpath_reducer reducer = {.name = "barrier", .combine = barrier};

/* All elements are on the next rank. */
static void go_on(void *context, void *target, const towpath_chare_id *id,
                  towpath_message *message) {
    (void)context;
    const Object *object = target;
    CHECK(message->bytes == 0 && object->index == id->index.words[0] && !towpath_leaves());
    CHECK(((uint32_t)object->finished + 1) % towpath_ranks() == towpath_rank());
    towpath_callback callback = {.kind = TOWPATH_CALL_FUNCTION, .function = went_on};
    CHECK(towpath_contribute(id, reducer.number, NULL, 0, &callback) == 0);
}

static towpath_entry constructor = {.name = "construct", .type = &type, .construct = construct};
static towpath_entry ready_entry = {.name = "get_ready", .invoke = get_ready};
static towpath_entry resume_entry = {
    .name = "go_on", .flags = TOWPATH_RESUMES, .type = &type, .invoke = go_on};

static void call_back(void *context, uint64_t function, const void *value, size_t bytes) {
    (void)context;
    if (function == went_on) {
        towpath_callback callback = {.kind = TOWPATH_CALL_FUNCTION, .function = not_written};
        CHECK(fails(towpath_checkpoint("\xff", 0, &callback), "not UTF-8"));
        callback.kind = 9;
        CHECK(fails(towpath_checkpoint("here", 0, &callback), "no callback of kind 9"));
        callback.kind = TOWPATH_CALL_FUNCTION;
        CHECK(towpath_checkpoint("/dev/null/below", 0, &callback) == 0);
        return;
    }
    char reason[500] = "";
    memcpy(reason, value, bytes < sizeof reason ? bytes : sizeof reason - 1);
    CHECK(function == not_written && strstr(reason, "/dev/null/below cannot be written"));
    puts("ok");
    towpath_exit(0);
}

static int before_start(void) {
    towpath_chare_id id = {0};
    towpath_callback callback = {0};
    int restarts = 5;
    towpath_join_balancing(1);
    return fails(towpath_at_sync(&id), "towpath_start") &&
           fails(towpath_checkpoint("here", 1, &callback), "towpath_start") &&
           fails(towpath_restart("here", &restarts), "towpath_start") && restarts == 0 &&
           fails(towpath_set_balancer("best"), "there is no balancer best; balancers are none") &&
           towpath_set_balancer("rotate") == 0;
}

int main(void) {
    if (!before_start())
        return 20;
    towpath_register_type(&type);
    towpath_register_entry(&constructor);
    towpath_register_entry(&ready_entry);
    towpath_register_entry(&resume_entry);
    towpath_register_reducer(&reducer);
    towpath_program program = {.call_back = call_back};
    if (towpath_start(&program) != 0) {
        fprintf(stderr, "%s\n", towpath_error());
        return 21;
    }
    int restarts = 5, code;
    if (towpath_restart(NULL, &restarts) != 0 || restarts != 0)
        return 22;
    if (towpath_rank() == 0) {
        towpath_collection options = {.type = type.number,
                                      .constructor = constructor.number,
                                      .dimensions = 1,
                                      .extents = {elements},
                                      .is_filled = 1};
        if (towpath_create_collection(&options, NULL, 0, &array) != 0)
            return 23;
        towpath_message message;
        towpath_message_new(0, &message);
        message.entry = ready_entry.number;
        if (towpath_broadcast(array, &message) != 0 || towpath_begin(NULL, 0) != 0)
            return 24;
    }
    if (towpath_run(&code) != 0)
        fprintf(stderr, "rank %u: %s\n", towpath_rank(), towpath_error());
    towpath_stop();
    return code;
}
