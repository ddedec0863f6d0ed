/*
 * Errors that the environment asks for. TOWPATH_STUB_FAIL is a list, separated by commas, of
 *
 *   FUNCTION[:CALL[:CODE[:later]]]
 *
 * The call of that number (1 if none is named; `3+` means the third one and all later ones)
 * returns CODE, by default CUDA_ERROR_LAUNCH_FAILED. With `later` the call itself works, and what
 * it put into a stream fails when its turn comes. A function may be named without its suffix _v2.
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local CUresult later;

CUresult take_later_failure(void)
{
    CUresult failure = later;
    later = CUDA_SUCCESS;
    return failure;
}

/* Whether an entry names a function; `rest` is what follows the name. */
static bool names(const char *entry, const char *name, const char **rest)
{
    size_t length = strcspn(entry, ":,");
    size_t whole = strlen(name);
    *rest = entry + length;
    bool suffixed = whole == length + 3 && memcmp(name + length, "_v2", 3) == 0;
    return (length == whole || suffixed) && memcmp(entry, name, length) == 0;
}

/* The error that an entry's numbers, ":CALL:CODE:later", ask for at this call. */
static CUresult asked(const char *text, unsigned long call)
{
    unsigned long first = 1;
    CUresult code = CUDA_ERROR_LAUNCH_FAILED;
    bool all = false, at_once = true;
    char *end = (char *)text;
    if (*end == ':') {
        first = strtoul(end + 1, &end, 10);
        all = *end == '+';
        end += all;
    }
    if (*end == ':') code = (CUresult)strtoul(end + 1, &end, 10);
    if (strncmp(end, ":later", 6) == 0) at_once = false;
    if (call != first && !(all && call > first)) return CUDA_SUCCESS;
    if (at_once) return code;
    later = code;
    return CUDA_SUCCESS;
}

CUresult injected(const char *name, unsigned long call)
{
    later = CUDA_SUCCESS;
    const char *entry = getenv("TOWPATH_STUB_FAIL"), *rest;
    while (entry && *entry) {
        if (names(entry, name, &rest)) {
            CUresult failure = asked(rest, call);
            if (failure) return failure;
        }
        entry = strchr(entry, ',');
        entry = entry ? entry + 1 : NULL;
    }
    return CUDA_SUCCESS;
}
