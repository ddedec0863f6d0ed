/* Info objects: keys in order of setting, values, lengths, deletion, copies, and the environment's own info. MPI 5.0, chapter 10 */
#include "check.h"

static void basic(void)
{
    MPI_Info info, copy;
    int number = -1, flag = -1, length;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_get_nkeys(info, &number));
    CHECK(number == 0, "%d keys in a new info", number);
    CALL(MPI_Info_set(info, "one", "1"));
    CALL(MPI_Info_set(info, "two", "zwei"));
    CALL(MPI_Info_set(info, "three", "a value with spaces, and = signs"));
    CALL(MPI_Info_set(info, "two", "two"));
    CALL(MPI_Info_get_nkeys(info, &number));
    CHECK(number == 3, "%d keys", number);
    const char *expected[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) {
        CALL(MPI_Info_get_nthkey(info, i, key));
        CHECK(strcmp(key, expected[i]) == 0, "key %d is '%s'", i, key);
    }
    length = sizeof value;
    CALL(MPI_Info_get_string(info, "two", &length, value, &flag));
    CHECK(flag && strcmp(value, "two") == 0 && length == 4, "'%s' of length %d", value, length);
    /* Too little room: the value is cut and the length needed comes back. */
    length = 3;
    CALL(MPI_Info_get_string(info, "three", &length, value, &flag));
    CHECK(flag && strcmp(value, "a ") == 0 && length == 33, "'%s' of length %d", value, length);
    length = 0;
    strcpy(value, "same");
    CALL(MPI_Info_get_string(info, "one", &length, value, &flag));
    CHECK(flag && length == 2 && strcmp(value, "same") == 0, "asked for the length: %d, '%s'", length, value);
    CALL(MPI_Info_get_valuelen(info, "three", &length, &flag));
    CHECK(flag && length == 32, "length %d", length);
    CALL(MPI_Info_get(info, "two", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "two") == 0, "'%s'", value);
    CALL(MPI_Info_get(info, "none", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag, "a key that nobody set");
    CALL(MPI_Info_dup(info, &copy));
    CALL(MPI_Info_delete(info, "two"));
    CALL(MPI_Info_get_nkeys(info, &number));
    CHECK(number == 2, "%d keys after a delete", number);
    CALL(MPI_Info_get_nkeys(copy, &number));
    CHECK(number == 3, "%d keys in the copy", number);
    CALL(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL, "not null after MPI_Info_free");
    CALL(MPI_Info_free(&copy));
}

static void longest(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], back[MPI_MAX_INFO_VAL + 1];
    int flag;
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY - 1] = value[MPI_MAX_INFO_VAL - 1] = 0;
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, key, value));
    CALL(MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, back, &flag));
    CHECK(flag && strcmp(back, value) == 0, "the longest value came back with length %zu", strlen(back));
    CALL(MPI_Info_free(&info));
}

static void errors(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 1];
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CALL(MPI_Info_create(&info));
    FAILS(MPI_Info_delete(info, "none"), MPI_ERR_INFO_NOKEY);
    FAILS_EITHER(MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY, MPI_ERR_ARG);
    FAILS_EITHER(MPI_Info_get_nthkey(info, 0, key), MPI_ERR_ARG, MPI_ERR_INFO_KEY);
    CALL(MPI_Info_free(&info));
    FAILS_EITHER(MPI_Info_set(MPI_INFO_NULL, "key", "value"), MPI_ERR_INFO, MPI_ERR_ARG);
}

static void environment(void)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int length = sizeof value, flag, number = -1;
    CALL(MPI_Info_get_nkeys(MPI_INFO_ENV, &number));
    CHECK(number >= 0, "%d keys in MPI_INFO_ENV", number);
    CALL(MPI_Info_get_string(MPI_INFO_ENV, "thread_level", &length, value, &flag));
    CHECK(!flag || strncmp(value, "MPI_THREAD_", 11) == 0, "thread_level '%s'", value);
    MPI_Info made;
    char *arguments[] = {"program", "a", NULL};
    CALL(MPI_Info_create_env(2, arguments, &made));
    CALL(MPI_Info_free(&made));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    basic();
    longest();
    errors();
    environment();
    return finish();
}
