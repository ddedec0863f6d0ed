! What a library of Fortran bindings passes through: the start, messages, reductions, attributes with functions, generalized requests.
module functions
  implicit none
  integer :: copies = 0, deletes = 0, queries = 0, frees = 0
contains
  subroutine copy_fn(comm, keyval, extra, old, new, flag, ierror)
    use mpi
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, old, new
    logical :: flag
    copies = copies + 1
    new = old + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_fn(comm, keyval, value, extra, ierror)
    use mpi
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine query_fn(extra, status, ierror)
    use mpi
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    queries = queries + 1
    status(MPI_SOURCE) = MPI_UNDEFINED
    status(MPI_TAG) = int(extra)
    call MPI_STATUS_SET_ELEMENTS(status, MPI_INTEGER, 3, ierror)
    call MPI_STATUS_SET_CANCELLED(status, .false., ierror)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine free_fn(extra, ierror)
    use mpi
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel_fn(extra, complete, ierror)
    use mpi
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    logical :: complete
    ierror = MPI_SUCCESS
  end subroutine
end module

program bindings
  use mpi
  use functions
  implicit none
  integer :: rank, nranks, ierror, keyval, copy, total, request, count, status(MPI_STATUS_SIZE)
  integer(kind=MPI_ADDRESS_KIND) :: extra = 100, value
  logical :: flag
  double precision :: mine(3), all(3)
  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierror)
  mine = [1d0, 2d0, 3d0] * (rank + 1)
  call MPI_ALLREDUCE(mine, all, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  total = nranks * (nranks + 1) / 2
  call check(all(3) == 3d0 * total, 'sum')
  call MPI_ALLREDUCE(MPI_IN_PLACE, rank, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  call check(rank == nranks - 1, 'in place')
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  call check(flag .and. value >= 32767, 'tag_ub')
  call MPI_COMM_CREATE_KEYVAL(copy_fn, delete_fn, keyval, extra, ierror)
  value = 7_MPI_ADDRESS_KIND * 2_MPI_ADDRESS_KIND**40
  call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, keyval, value, ierror)
  value = 0
  call MPI_COMM_DUP(MPI_COMM_WORLD, copy, ierror)
  call check(copies == 1, 'copies')
  call MPI_COMM_GET_ATTR(copy, keyval, value, flag, ierror)
  call check(flag .and. value == 7_MPI_ADDRESS_KIND * 2_MPI_ADDRESS_KIND**40 + 100, 'copied value')
  call MPI_COMM_FREE(copy, ierror)
  call check(deletes == 1, 'deletes of the copy')
  call MPI_COMM_DELETE_ATTR(MPI_COMM_WORLD, keyval, ierror)
  call check(deletes == 2, 'deletes')
  call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, keyval, value, flag, ierror)
  call check(.not. flag, 'deleted')
  call MPI_COMM_FREE_KEYVAL(keyval, ierror)
  call MPI_TYPE_CREATE_KEYVAL(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, extra, ierror)
  call MPI_TYPE_SET_ATTR(MPI_INTEGER, keyval, 5_MPI_ADDRESS_KIND, ierror)
  call MPI_TYPE_DUP(MPI_INTEGER, copy, ierror)
  call MPI_TYPE_GET_ATTR(copy, keyval, value, flag, ierror)
  call check(flag .and. value == 5, 'attribute of a type')
  call MPI_TYPE_FREE(copy, ierror)
  extra = 42
  call MPI_GREQUEST_START(query_fn, free_fn, cancel_fn, extra, request, ierror)
  call MPI_GREQUEST_COMPLETE(request, ierror)
  call MPI_WAIT(request, status, ierror)
  call MPI_GET_COUNT(status, MPI_INTEGER, count, ierror)
  call check(queries == 1 .and. frees == 1 .and. status(MPI_TAG) == 42 .and. count == 3, 'generalized request')
  print '(a)', 'ok'
  call MPI_FINALIZE(ierror)
contains
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    print '(2a)', 'wrong: ', what
    call MPI_ABORT(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
