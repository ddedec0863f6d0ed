/* From before MPI_Init to after MPI_Finalize: what may be asked at any time, and what the answers are. MPI 5.0, 11.2 and 11.4.1 */
#include "check.h"

static void any_time(int initialized, int finalized)
{
    int flag = -1, version = 0, subversion = -1, length = 0, major = 7, minor = 7;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Initialized(&flag);
    CHECK(!!flag == initialized, "MPI_Initialized says %d", flag);
    MPI_Finalized(&flag);
    CHECK(!!flag == finalized, "MPI_Finalized says %d", flag);
    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION, "version %d.%d, the header says %d.%d", version, subversion, MPI_VERSION,
          MPI_SUBVERSION);
    MPI_Get_library_version(library, &length);
    CHECK(length > 0 && length < MPI_MAX_LIBRARY_VERSION_STRING && (int)strlen(library) <= length, "library version of length %d", length);
    MPI_Abi_get_version(&major, &minor);
#ifdef MPI_ABI_VERSION
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION, "ABI version %d.%d", major, minor);
#else
    CHECK(major == -1 && minor == -1, "ABI version %d.%d", major, minor);
#endif
}

static void infos_any_time(void)
{
    MPI_Info info;
    char value[20] = "";
    int length = sizeof value, flag = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_get_string(info, "key", &length, value, &flag);
    CHECK(flag && strcmp(value, "value") == 0, "info before MPI_Init or after MPI_Finalize: '%s'", value);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    any_time(0, 0);
    infos_any_time();
    int provided = -1, flag = -1, level = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    check_started();
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE, "provided %d", provided);
    any_time(1, 0);
    CALL(MPI_Query_thread(&level));
    CHECK(level == provided, "MPI_Query_thread says %d, provided was %d", level, provided);
    CALL(MPI_Is_thread_main(&flag));
    CHECK(flag, "the thread that called MPI_Init_thread is not the main one");
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED && MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE,
          "thread levels are not in order");
    CALL(MPI_Finalize());
    any_time(1, 1);
    infos_any_time();
    return verdict();
}
