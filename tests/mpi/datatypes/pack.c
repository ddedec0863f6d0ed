/* Packing piece by piece, packed messages, and the positions of MPI_Pack and MPI_Unpack. MPI 5.0, 5.2 */
#include "../pattern.h"

static char packed[4000];

static void pieces(void)
{
    int number = 42, position = 0, size, back = 0, length = -1;
    double values[10], values_back[10] = {0};
    char text[] = "towpath", text_back[sizeof text] = "";
    for (int i = 0; i < 10; i++)
        values[i] = i / 3.0;
    CALL(MPI_Pack(&number, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CALL(MPI_Pack(values, 10, MPI_DOUBLE, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CALL(MPI_Pack(text, sizeof text, MPI_CHAR, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CALL(MPI_Pack(NULL, 0, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CALL(MPI_Pack_size(10, MPI_DOUBLE, MPI_COMM_WORLD, &size));
    CHECK(size >= 80, "10 doubles need only %d bytes", size);
    CHECK(position <= (int)sizeof packed && position >= 4 + 80 + (int)sizeof text, "position %d", position);
    length = position;
    position = 0;
    CALL(MPI_Unpack(packed, length, &position, &back, 1, MPI_INT, MPI_COMM_WORLD));
    CALL(MPI_Unpack(packed, length, &position, values_back, 4, MPI_DOUBLE, MPI_COMM_WORLD));
    CALL(MPI_Unpack(packed, length, &position, values_back + 4, 6, MPI_DOUBLE, MPI_COMM_WORLD));
    CALL(MPI_Unpack(packed, length, &position, text_back, sizeof text, MPI_CHAR, MPI_COMM_WORLD));
    CHECK(position == length && back == 42 && !memcmp(values, values_back, sizeof values) && !strcmp(text, text_back), "unpacked something else");
}

/* What is packed may be received as its types, and what is sent as types may be received packed. */
static void messages(void)
{
    int peer = check_size - 1 - check_rank, position = 0, header[2] = {check_rank, 5}, got[2], count;
    double body[5] = {1, 2, 3, 4, 5.5}, arrived[5];
    struct {
        int header[2];
        double body[5];
    } whole;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;
    CALL(MPI_Pack(header, 2, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CALL(MPI_Pack(body, 5, MPI_DOUBLE, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CALL(MPI_Type_create_struct(2, (int[]){2, 5}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type));
    CALL(MPI_Type_commit(&type));
    CALL(MPI_Isend(packed, position, MPI_PACKED, peer, 1, MPI_COMM_WORLD, &request));
    CALL(MPI_Recv(&whole, 1, type, peer, 1, MPI_COMM_WORLD, &status));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(whole.header[0] == peer && whole.header[1] == 5 && !memcmp(whole.body, body, sizeof body), "a packed message arrived as something else");
    CALL(MPI_Isend(&whole, 1, type, peer, 2, MPI_COMM_WORLD, &request));
    CALL(MPI_Recv(packed, sizeof packed, MPI_PACKED, peer, 2, MPI_COMM_WORLD, &status));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Get_count(&status, MPI_PACKED, &count));
    position = 0;
    CALL(MPI_Unpack(packed, count, &position, got, 2, MPI_INT, MPI_COMM_WORLD));
    CALL(MPI_Unpack(packed, count, &position, arrived, 5, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(position == count && got[0] == check_rank && got[1] == 5 && !memcmp(arrived, body, sizeof body), "a typed message was unpacked as something else");
    CALL(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    pieces();
    messages();
    return finish();
}
