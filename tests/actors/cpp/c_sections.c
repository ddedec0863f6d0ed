/* Sections, reducers of the library and priorities of bits, by the C functions. */
#include <stdio.h>

#include "c_object.h"

enum { members = 4 };

static uint64_t array;
static towpath_section section;
static towpath_entry contribute_entry, told_entry, keep_entry, bits_entry;
static int told;

static void *construct(void *context, const towpath_chare_id *id, towpath_message *message) {
    (void)context, (void)message;
    Object *object = calloc(1, sizeof *object);
    object->index = id->index.words[0];
    return object;
}

static towpath_callback function(uint64_t number) {
    towpath_callback callback = {.kind = TOWPATH_CALL_FUNCTION, .function = number};
    return callback;
}

/* A section that the sender names, and all reducers at once. */
static void contribute(void *context, void *target, const towpath_chare_id *id,
                       towpath_message *message) {
    (void)context;
    Object *object = target;
    towpath_section sent, mine[2], of_message;
    memcpy(&sent, message->payload, sizeof sent);
    CHECK(message->flags & TOWPATH_TO_SECTION);
    CHECK(towpath_message_section(message, &of_message) == 0);
    CHECK(memcmp(&of_message, &sent, sizeof sent) == 0);
    towpath_message_keep(message);
    memset(&of_message, 0, sizeof of_message);
    CHECK(towpath_message_section(message, &of_message) == 0);
    CHECK(memcmp(&of_message, &sent, sizeof sent) == 0);
    towpath_message_free(message);
    CHECK(towpath_sections(id, mine, 2) == 1 && memcmp(mine, &sent, sizeof sent) == 0);
    CHECK(towpath_sections(id, NULL, 0) == 1);
    CHECK(towpath_is_old_section(&sent) == 0);

    uint32_t number;
    CHECK(towpath_next_section_reduction(id, &sent, &number) == 0);
    CHECK(number == (uint32_t)object->count);
    int32_t index = object->index;
    towpath_statistics statistics = {1, index, 0};
    const towpath_part parts[] = {
        {TOWPATH_REDUCER(TOWPATH_SUM, TOWPATH_I32), &index, sizeof index},
        {TOWPATH_REDUCER(TOWPATH_MAX, TOWPATH_I32), &index, sizeof index},
        {TOWPATH_SET, "value", 5},
        {TOWPATH_CONCAT, "ab", 2},
        {TOWPATH_STATISTICS, &statistics, sizeof statistics},
        {TOWPATH_RANDOM, "x", 1},
        {TOWPATH_NOP, NULL, 0},
    };
    towpath_callback callback = function(2);
    CHECK(towpath_contribute_tuple(id, &sent, parts, 7, &callback) == 0);
    ++object->count;
    CHECK(towpath_next_section_reduction(id, &sent, &number) == 0);
    CHECK(number == (uint32_t)object->count);

    /* A second reduction, whose result goes to the section. */
    callback = (towpath_callback){.kind = TOWPATH_CALL_SECTION,
                                  .collection = sent.collection,
                                  .rank = sent.root,
                                  .function = sent.number,
                                  .entry = told_entry.number,
                                  .reference = 5};
    CHECK(towpath_contribute_to_section(id, &sent, parts[0].reducer, &index, sizeof index,
                                        &callback) == 0);
    ++object->count;

    sent.number += 1;
    CHECK(towpath_contribute_to_section(id, &sent, TOWPATH_NOP, NULL, 0, NULL) == -1);
    CHECK(strstr(towpath_error(), "to which it does not belong"));
    CHECK(towpath_next_section_reduction(id, &sent, &number) == -1);
    const towpath_part wrong = {TOWPATH_REDUCER(TOWPATH_BIT_OR, TOWPATH_F64), "12345678", 8};
    CHECK(towpath_contribute_tuple(id, NULL, &wrong, 1, NULL) == -1);
    CHECK(strstr(towpath_error(), "there is no reducer"));
}

static void is_told(void *context, void *target, const towpath_chare_id *id,
                    towpath_message *message) {
    (void)context, (void)id;
    Object *object = target;
    int32_t sum;
    CHECK(message->flags & TOWPATH_RESULT && message->reference == 5);
    CHECK(message->bytes == sizeof sum);
    memcpy(&sum, message->payload, sizeof sum);
    CHECK(sum == 1 + 2 + 3 + 5);
    ++object->finished;
}

static const uint32_t bits[3] = {0x90000000, 5, 0xa0000000};

/* A message with a priority of bits that is kept, and sent again. */
static void keep(void *context, void *target, const towpath_chare_id *id,
                 towpath_message *message) {
    (void)context;
    Object *object = target;
    /* The results of two reductions were told before. */
    const int before = 2;
    towpath_section unused;
    CHECK(towpath_message_section(message, &unused) == -1);
    CHECK(message->bytes == 5 && memcmp(message->payload, "bytes", 5) == 0);
    towpath_message_keep(message);
    CHECK((uintptr_t)message->payload % 16 == 0 && memcmp(message->payload, "bytes", 5) == 0);
    CHECK(message->flags & TOWPATH_PRIORITY && message->priority == 0x10000000);
    CHECK(towpath_message_section(message, &unused) == -1);
    if (++object->finished == before + 1) {
        CHECK(towpath_invoke(id, message) == 0);
        return;
    }
    /* Memory behind the priority is for as many bytes as it was made for, rounded up. */
    message->bytes = 5000;
    CHECK(towpath_invoke(id, message) == -1 && strstr(towpath_error(), "may shrink"));
}

/* Messages with strings of bits that wait together are taken in their order. */
static void in_order(void *context, void *target, const towpath_chare_id *id,
                     towpath_message *message) {
    (void)context, (void)target;
    int32_t number;
    memcpy(&number, message->payload, sizeof number);
    if (number < 0) {
        /* The longer the string, the later. */
        for (uint32_t length = 67; length + 1 > 0; length = length == 0 ? UINT32_MAX : length - 1) {
            towpath_message sent;
            CHECK(towpath_message_new_prioritized(4, bits, length, &sent) == 0);
            memcpy(sent.payload, &length, sizeof length);
            sent.entry = bits_entry.number;
            CHECK(towpath_invoke(id, &sent) == 0);
        }
        return;
    }
    static int32_t last = -1;
    CHECK(number == last + 1);
    last = number;
}

static towpath_entry constructor = {.name = "make", .construct = construct, .type = &type};
static towpath_entry contribute_entry = {.name = "contribute", .invoke = contribute};
static towpath_entry told_entry = {.name = "told", .invoke = is_told};
static towpath_entry keep_entry = {.name = "keep", .invoke = keep};
static towpath_entry bits_entry = {.name = "in order", .invoke = in_order};

static void quiescence(uint64_t number) {
    towpath_callback callback = function(number);
    CHECK(towpath_start_quiescence(&callback) == 0);
}

static void send_section(void) {
    towpath_message message;
    towpath_message_new(sizeof section, &message);
    memcpy(message.payload, &section, sizeof section);
    message.entry = contribute_entry.number;
    CHECK(towpath_multicast(&section, &message) == 0);
    CHECK(towpath_multicast(&section, &message) == -1 && strstr(towpath_error(), "sent or freed"));
}

static void test_wrong_sections(void) {
    towpath_index wrong[2] = {{.length = 1}, {.length = 7}};
    towpath_section unused;
    CHECK(towpath_create_section(array, wrong, 2, &unused) == -1);
    CHECK(strstr(towpath_error(), "0 to 6 words"));
    wrong[1] = (towpath_index){{elements}, 1};
    CHECK(towpath_create_section(array, wrong, 2, &unused) == -1);
    CHECK(strstr(towpath_error(), "no element"));
    CHECK(towpath_create_section(TOWPATH_SINGLE_CHARES, wrong, 1, &unused) == -1);
    towpath_message message;
    towpath_message_new(4, &message);
    unused = (towpath_section){array, towpath_ranks(), 1};
    CHECK(towpath_multicast(&unused, &message) == -1 && strstr(towpath_error(), "ranks"));
    CHECK(message.payload == NULL);
}

static void test_wrong_priorities(void) {
    towpath_message message;
    CHECK(towpath_message_new_prioritized(4, bits, (1 << 20) + 1, &message) == -1);
    CHECK(strstr(towpath_error(), "up to 1048576 bits") && message.payload == NULL);
    CHECK(towpath_message_new_prioritized(4, NULL, 5, &message) == -1);
    CHECK(strstr(towpath_error(), "without the words") && message.payload == NULL);
    CHECK(towpath_message_new_prioritized(SIZE_MAX, bits, 5, &message) == 0);
    CHECK(message.payload == NULL);
    CHECK(towpath_message_new_prioritized(100, bits, 64, &message) == 0);
    towpath_message_free(&message);
}

static void test_moved_payloads(const towpath_chare_id *id) {
    for (int has_bits = 0; has_bits < 2; ++has_bits) {
        for (int by = -16; by <= 16; by += 32) {
            towpath_message message;
            if (has_bits)
                CHECK(towpath_message_new_prioritized(64, bits, 67, &message) == 0);
            else
                towpath_message_new(64, &message);
            memset(message.payload, 0, 64);
            message.payload = (char *)message.payload + by;
            message.bytes -= 16;
            message.entry = bits_entry.number;
            CHECK(towpath_invoke(id, &message) == -1 && strstr(towpath_error(), "was moved"));
        }
    }
}

static void test_lists(void) {
    size_t count;
    CHECK(towpath_parts("123", 3, NULL, 0, &count) == -1 && strstr(towpath_error(), "3 bytes"));
    CHECK(towpath_parts(NULL, 0, NULL, 0, &count) == 0 && count == 0);
}

static void check_results(const void *value, size_t bytes) {
    towpath_part parts[7], values[members];
    size_t count;
    CHECK(towpath_parts(value, bytes, parts, 3, &count) == 0 && count == 7);
    CHECK(towpath_parts(value, bytes, parts, 7, &count) == 0 && count == 7);
    int32_t sum, greatest;
    memcpy(&sum, parts[0].data, sizeof sum);
    memcpy(&greatest, parts[1].data, sizeof greatest);
    CHECK(sum == 1 + 2 + 3 + 5 && greatest == 5);
    CHECK(parts[0].reducer == TOWPATH_REDUCER(TOWPATH_SUM, TOWPATH_I32));
    CHECK(towpath_parts(parts[2].data, parts[2].bytes, values, members, &count) == 0);
    CHECK(count == members && values[3].bytes == 5 && memcmp(values[3].data, "value", 5) == 0);
    CHECK(parts[3].bytes == 2 * members && parts[5].bytes == 1 && parts[6].bytes == 0);
    towpath_statistics statistics;
    memcpy(&statistics, parts[4].data, sizeof statistics);
    CHECK(statistics.count == members && statistics.mean == 11.0 / 4);
}

/* One step after the other, each when the one before has ended. */
static void call_back(void *context, uint64_t step, const void *value, size_t bytes) {
    (void)context;
    towpath_chare_id id = {.collection = array, .index = {.words = {2}, .length = 1}};
    towpath_message message;
    switch (step) {
    case 1: {
        const towpath_index indexes[members] = {{{5}, 1}, {{1}, 1}, {{2}, 1}, {{3}, 1}};
        CHECK(towpath_create_section(array, indexes, members, &section) == 0);
        send_section();
        send_section();
        quiescence(3);
        break;
    }
    case 2:
        check_results(value, bytes);
        ++told;
        break;
    case 3:
        CHECK(told == 2);
        CHECK(towpath_message_new_prioritized(5, bits, 67, &message) == 0);
        memcpy(message.payload, "bytes", 5);
        message.entry = keep_entry.number;
        CHECK(towpath_invoke(&id, &message) == 0);
        towpath_message_new(4, &message);
        memcpy(message.payload, &(int32_t){-1}, 4);
        message.entry = bits_entry.number;
        CHECK(towpath_invoke(&id, &message) == 0);
        quiescence(4);
        break;
    default:
        test_wrong_sections();
        test_wrong_priorities();
        test_moved_payloads(&id);
        test_lists();
        puts("ok");
        towpath_exit(0);
    }
}

int main(void) {
    towpath_register_type(&type);
    towpath_entry *entries[] = {&constructor, &contribute_entry, &told_entry, &keep_entry,
                                &bits_entry};
    for (size_t at = 0; at < sizeof entries / sizeof *entries; ++at)
        towpath_register_entry(entries[at]);
    towpath_program program = {.call_back = call_back};
    if (towpath_start(&program) != 0) {
        fprintf(stderr, "%s\n", towpath_error());
        return 21;
    }
    if (towpath_rank() == 0) {
        towpath_collection options = {.type = type.number,
                                      .constructor = constructor.number,
                                      .map = TOWPATH_ROUND_ROBIN,
                                      .dimensions = 1,
                                      .extents = {elements},
                                      .is_filled = 1};
        if (towpath_create_collection(&options, NULL, 0, &array) != 0)
            return 25;
        quiescence(1);
        towpath_begin(NULL, 0);
    }
    int code;
    if (towpath_run(&code) != 0)
        fprintf(stderr, "rank %u: %s\n", towpath_rank(), towpath_error());
    towpath_stop();
    return code;
}
