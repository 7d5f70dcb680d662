! SPDX-License-Identifier: Apache-2.0
! Types of languages.f90, and procedures that allocate for their callers.
module kinds
  implicit none
  integer, parameter :: long = selected_int_kind(18)
  type point
    real(8) :: x, y
    integer :: id
  end type
  type, abstract :: shape
  end type
  type, extends(shape) :: circle
    type(point) :: centre
    real(8) :: r
  end type
  type, extends(circle) :: ring
    real(8) :: inner
  end type
  type item
    integer(8) :: key(4)
    type(item), pointer :: next => null()
    real(8), allocatable :: values(:)
    character(:), allocatable :: name
    class(shape), allocatable :: outline
  end type
  real(4), allocatable :: table(:, :)
  real(8), pointer :: window(:)
  type(item), pointer :: head => null()
  integer(8), allocatable, private :: kept(:)
contains
  ! The type's name as the debug information has it.
  subroutine made(bytes, blocks, kind, place)
    integer, intent(in) :: bytes, blocks
    character(*), intent(in) :: kind, place
    print '(a,i0,1x,i0,1x,a,a,a)', 'made ', bytes, blocks, place, ' ', kind
  end subroutine
  subroutine fill(v, n)
    real(8), allocatable, intent(out) :: v(:)
    integer, intent(in) :: n
    allocate (v(n))
    v = 3
    call made(8 * n, 1, 'real(kind=8)[]', 'kinds::fill')
  end subroutine
  function computed(n) result(v)
    integer, intent(in) :: n
    complex(8), allocatable :: v(:)
    allocate (v(n))
    v = (1.0d0, 2.0d0)
    call made(16 * n, 1, 'complex(kind=8)[]', 'kinds::computed')
  end function
  ! The result's descriptor is somebody else's, and the pieces have none of the program's.
  recursive function counted(n) result(r)
    integer, intent(in) :: n
    integer, allocatable :: r(:)
    if (n <= 1) then
      r = [1]
    else
      r = [counted(n - 1), n]
    end if
  end function
  subroutine automatic(n)
    integer, intent(in) :: n
    integer(2) :: scratch(n)
    scratch = 1
    call see(scratch(n:n))
    call made(2 * n, 1, 'integer(kind=2)[]', 'kinds::automatic')
  end subroutine
  subroutine see(v)
    integer(2), intent(in) :: v(:)
    if (v(1) /= 1) error stop
  end subroutine
  subroutine look(shapes, text)
    class(circle), intent(in) :: shapes(:)
    character(kind=4, len=*), intent(in) :: text
    if (size(shapes) == 3) print *, shapes(1)%r, text
  end subroutine
  subroutine add(i)
    integer, intent(in) :: i
    type(item), pointer :: it
    allocate (it)
    it%key = i
    it%next => head
    allocate (it%values(33))
    it%values = i
    it%name = repeat('n', 77)
    allocate (ring :: it%outline)
    head => it
  end subroutine
  ! Temporaries of expressions are nobody's variables.
  subroutine join(left, right)
    character(*), intent(in) :: left, right
    print *, index(trim(left) // right // adjustl(left), 'q')
    call made(len(left) + len(right), 1, 'character(kind=1)[]', 'kinds::join')
    call made(2 * len(left) + len(right), 1, 'character(kind=1)[]', 'kinds::join')
  end subroutine
  subroutine keep(n)
    integer, intent(in) :: n
    allocate (kept(n))
    kept = 1
    call made(8 * n, 1, 'integer(kind=8)[]', 'kinds::keep')
  end subroutine
  ! Some have no elements.
  subroutine various(n)
    integer, intent(in) :: n
    integer(1), allocatable :: small(:)
    type(point), allocatable :: points(:)
    integer :: i
    do i = 0, n, 7
      allocate (points(i))
      if (i > 0) points(i)%id = i
      deallocate (points)
    end do
    allocate (small(n))
    small = 2
    call see([int(small(1) - 1, 2)])
    call made(n, 1, 'integer(kind=1)[]', 'kinds::various')
    call made(24 * (n / 7 * 7), n / 7 + 1, 'point[]', 'kinds::various')
  end subroutine
end module
