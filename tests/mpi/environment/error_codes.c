/* Classes of the standard have texts; users add classes, codes and texts, and remove them again. MPI 5.0, 9.4 and 9.5 */
#include "check.h"

static void standard_classes(void)
{
    int classes[] = {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_REQUEST, MPI_ERR_ROOT,
                     MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE,
                     MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_PENDING, MPI_ERR_IN_STATUS, MPI_ERR_KEYVAL, MPI_ERR_NO_MEM, MPI_ERR_INFO,
                     MPI_ERR_INFO_KEY, MPI_ERR_INFO_VALUE, MPI_ERR_INFO_NOKEY, MPI_ERR_SPAWN, MPI_ERR_PORT, MPI_ERR_SERVICE, MPI_ERR_NAME,
                     MPI_ERR_WIN, MPI_ERR_FILE, MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_SESSION, MPI_ERR_PROC_ABORTED, MPI_ERR_ERRHANDLER};
    int number = (int)(sizeof classes / sizeof *classes);
    for (int i = 0; i < number; i++) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int class = -1, length = -1;
        CALL(MPI_Error_class(classes[i], &class));
        CHECK(class == classes[i], "the class of class %d is %d", classes[i], class);
        CALL(MPI_Error_string(classes[i], text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && (int)strlen(text) == length, "text of class %d has length %d", classes[i], length);
        CHECK(classes[i] > 0 && classes[i] <= MPI_ERR_LASTCODE, "class %d above MPI_ERR_LASTCODE %d", classes[i], MPI_ERR_LASTCODE);
        for (int j = 0; j < i; j++)
            CHECK(classes[i] != classes[j], "two classes have the number %d", classes[i]);
    }
    int class = -1;
    CALL(MPI_Error_class(MPI_SUCCESS, &class));
    CHECK(class == MPI_SUCCESS, "class of success %d", class);
}

static void own_codes(void)
{
    int class, code, other, result, flag, *last;
    char text[MPI_MAX_ERROR_STRING];
    CALL(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE, "own class %d is not above MPI_ERR_LASTCODE", class);
    CALL(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last >= class, "MPI_LASTUSEDCODE %d after class %d", flag ? *last : -1, class);
    CALL(MPI_Add_error_code(class, &code));
    CALL(MPI_Add_error_code(MPI_ERR_ARG, &other));
    CHECK(code != other && code > MPI_ERR_LASTCODE, "codes %d and %d", code, other);
    CALL(MPI_Error_class(code, &result));
    CHECK(result == class, "class of the own code is %d, expected %d", result, class);
    CALL(MPI_Error_class(other, &result));
    CHECK(result == MPI_ERR_ARG, "class of the code in MPI_ERR_ARG is %d", result);
    int length = -1;
    CALL(MPI_Error_string(code, text, &length));
    CHECK(length == 0, "a code without text has '%s'", text);
    CALL(MPI_Add_error_string(code, "the river is closed"));
    CALL(MPI_Add_error_string(class, "water"));
    CALL(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "the river is closed") == 0, "text '%s'", text);
    CALL(MPI_Error_string(class, text, &length));
    CHECK(strcmp(text, "water") == 0, "text '%s'", text);
    CALL(MPI_Remove_error_string(code));
    CALL(MPI_Remove_error_string(class));
    CALL(MPI_Remove_error_code(code));
    CALL(MPI_Remove_error_code(other));
    CALL(MPI_Remove_error_class(class));
}

static void replaced_text(void)
{
    int code, length = -1;
    char text[MPI_MAX_ERROR_STRING];
    CALL(MPI_Add_error_code(MPI_ERR_OTHER, &code));
    CALL(MPI_Add_error_string(code, "first"));
    CALL(MPI_Add_error_string(code, "second"));
    CALL(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "second") == 0 && length == 6, "text '%s'", text);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    standard_classes();
    own_codes();
    replaced_text();
    return finish();
}
