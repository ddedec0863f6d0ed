/* How much memory this process has. */
#ifndef TOWPATH_TESTS_RESIDENT_H
#define TOWPATH_TESTS_RESIDENT_H

#include <stdio.h>
#include <string.h>

/* Kilobytes of one kind in memory now: "VmRSS" is all of it, "RssAnon" what no file backs. */
static long resident_kilobytes(const char *kind)
{
    FILE *file = fopen("/proc/self/status", "r");
    size_t length = strlen(kind);
    char line[256];
    long value = 0;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, kind, length) && sscanf(line + length, ": %ld", &value) == 1)
            break;
    if (file)
        fclose(file);
    return value;
}

#endif
