#include <stdio.h>
#include <string.h>

/* What the network devices of this host have received so far, or sent. */
static inline double transferred(int is_sent)
{
    char line[512];
    double all[2] = {0, 0};
    FILE *file = fopen("/proc/self/net/dev", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *name = strtok(line, ":"), *figures = strtok(NULL, ":");
        double bytes[2];
        if (figures && !strstr(name, "lo")
            && sscanf(figures, "%lf %*s %*s %*s %*s %*s %*s %*s %lf", bytes, bytes + 1) == 2)
            for (int direction = 0; direction < 2; direction++)
                all[direction] += bytes[direction];
    }
    if (file)
        fclose(file);
    return all[is_sent];
}

static inline double sent(void)
{
    return transferred(1);
}
