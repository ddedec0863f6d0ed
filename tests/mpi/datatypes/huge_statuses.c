/* A status holds any count of bytes up to 2^63 - 1, beside the cancelled flag. MPI 5.0, 3.2.5 and 13.3 */
#include "check.h"

#include <stdint.h>

static void holds(MPI_Count bytes, int cancelled)
{
    MPI_Status status;
    MPI_Count elements = -1, counted = -1;
    int flag = -1;
    memset(&status, 0, sizeof status);
    CALL(MPI_Status_set_elements_x(&status, MPI_BYTE, bytes));
    CALL(MPI_Status_set_cancelled(&status, cancelled));
    CALL(MPI_Get_elements_x(&status, MPI_BYTE, &elements));
    CALL(MPI_Get_count_c(&status, MPI_BYTE, &counted));
    CALL(MPI_Test_cancelled(&status, &flag));
    CHECK(elements == bytes && counted == bytes, "%llx bytes became %llx and %llx", (long long)bytes, (long long)elements,
          (long long)counted);
    CHECK(!flag == !cancelled, "cancelled %d became %d", cancelled, flag);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        for (int shift = 0; shift < 63; shift++)
            holds(((MPI_Count)1 << shift) + (shift > 3 ? 5 : 0), cancelled);
        holds(INT64_MAX, cancelled);
        holds(0, cancelled);
    }
    return finish();
}
