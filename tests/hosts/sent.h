#include <stdio.h>
#include <string.h>

/* What the network devices of this host have sent so far. */
static double sent(void)
{
    char line[512];
    double all = 0;
    FILE *file = fopen("/proc/self/net/dev", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *name = strtok(line, ":"), *figures = strtok(NULL, ":");
        double bytes;
        if (figures && !strstr(name, "lo")
            && sscanf(figures, "%*s %*s %*s %*s %*s %*s %*s %*s %lf", &bytes) == 1)
            all += bytes;
    }
    if (file)
        fclose(file);
    return all;
}
