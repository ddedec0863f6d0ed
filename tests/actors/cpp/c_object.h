/* The chares of c_face.c, and a check that names its line. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include <towpath/actors.h>

#define CHECK(condition)                                                               \
    do {                                                                               \
        if (!(condition))                                                              \
            towpath_fail("line " TEXT(__LINE__) ": not so: " #condition);              \
    } while (0)
#define TEXT(line) TEXT_OF(line)
#define TEXT_OF(line) #line

/* As in actors-c, actors-python and python/towpath/charm. */
_Static_assert(sizeof(towpath_message) == 56 && offsetof(towpath_message, memory) == 32 &&
                   offsetof(towpath_message, arrays) == 40,
               "a message has another layout than its copies in other languages");

enum { elements = 6, threads = 50, kept_messages = 10 };

typedef struct {
    int32_t index;
    int32_t finished;
    towpath_thread *waiting[threads];
    int32_t count;
    towpath_message kept[kept_messages];
    int32_t keeps;
} Object;

static size_t packed_bytes(void *context, void *object) {
    (void)context, (void)object;
    return 2 * sizeof(int32_t);
}

static void pack(void *context, void *object, void *into, size_t bytes) {
    (void)context;
    const Object *from = object;
    int32_t words[2] = {from->index, from->finished};
    memcpy(into, words, bytes);
}

static void *unpack(void *context, const towpath_chare_id *id, const void *packed, size_t bytes) {
    (void)context;
    int32_t words[2];
    CHECK(bytes == sizeof words);
    memcpy(words, packed, sizeof words);
    Object *object = calloc(1, sizeof *object);
    object->index = words[0];
    object->finished = words[1];
    CHECK(object->index == id->index.words[0]);
    return object;
}

static void destroy(void *context, void *object) {
    (void)context;
    free(object);
}

static towpath_type type = {.name = "Object",
                            .packed_bytes = packed_bytes,
                            .pack = pack,
                            .unpack = unpack,
                            .destroy = destroy};
