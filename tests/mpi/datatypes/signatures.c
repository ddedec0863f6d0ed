/* A message may be received with another datatype of the same signature, also a shorter one. MPI 5.0, 3.3.1 and 5.1.11 */
#include "../collectives/areas.h"

static void exchange(const struct layout *sent, const struct layout *got, long units, long room)
{
    int peer = check_size - 1 - check_rank, count;
    MPI_Request request;
    MPI_Status status;
    struct area out = area_new(sent, units / sent->units), in = area_new(got, room / got->units);
    area_fill(&out, 0, units, (unsigned)check_rank + 1);
    area_expect(&in, 0, units, (unsigned)peer + 1);
    area_reset(&out);
    CALL(MPI_Isend(out.buffer, (int)(units / sent->units), sent->type, peer, 4, MPI_COMM_WORLD, &request));
    CALL(MPI_Recv(in.buffer, (int)(room / got->units), got->type, peer, 4, MPI_COMM_WORLD, &status));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Get_count(&status, got->type, &count));
    CHECK(count == units / got->units, "count %d instead of %ld", count, units / got->units);
    CHECK(area_differs(&in) == AREA_RIGHT, "%ld units from %s to %s of family %d: byte %ld is wrong", units, sent->name, got->name, got->family,
          area_differs(&in));
    CHECK(area_differs(&out) == AREA_RIGHT, "the send buffer (%s) was changed", sent->name);
    area_free(&out);
    area_free(&in);
}

int main(int argc, char **argv)
{
    static const long units[] = {0, 12, 36, 1200, 12000, 120000};
    start(&argc, &argv);
    layouts_make();
    for (int i = 0; i < layout_count; i++)
        for (int j = 0; j < layout_count; j++)
            for (size_t k = 0; layouts[i].family == layouts[j].family && k < sizeof units / sizeof *units; k++) {
                exchange(&layouts[i], &layouts[j], units[k], units[k]);
                exchange(&layouts[i], &layouts[j], units[k], units[k] + 24);
            }
    layouts_free();
    return finish();
}
