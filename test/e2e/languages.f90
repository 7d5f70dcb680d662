! SPDX-License-Identifier: Apache-2.0
! Allocates in each way that Fortran has. Prints "made SIZE BLOCKS FUNCTION TYPE" of each kind of
! block; each has a size of its own (of blocks of several sizes the largest). TYPE|TYPE: either.
program languages
  use kinds
  implicit none
  type(point), allocatable :: pts(:), two(:)
  real(8), allocatable :: grid(:, :), copy(:, :), like(:, :), filled(:), scalar
  complex(8), allocatable :: cs(:)
  complex(4), allocatable :: thin(:)
  class(shape), allocatable :: s
  class(circle), allocatable :: many(:)
  class(shape), pointer :: of_source
  character(:), allocatable :: word
  character(kind=4, len=:), allocatable :: wide
  character(10), allocatable :: names(:)
  logical, allocatable :: flags(:)
  type(point), pointer :: one
  type(item), allocatable :: items(:)
  integer, allocatable :: numbers(:)
  integer :: i
  character(*), parameter :: here = 'languages'
  allocate (pts(1001))
  allocate (grid(101, 203))
  allocate (copy, source=grid(:, 1:202))
  allocate (like(103, 207), mold=grid)
  allocate (ring :: s)
  allocate (circle :: many(7))
  allocate (of_source, source=many(1))
  allocate (names(11))
  allocate (flags(1300))
  allocate (scalar)
  allocate (one)
  allocate (table(17, 19))
  allocate (window(61))
  allocate (thin(307))
  allocate (items(3))
  do i = 1, 3
    allocate (items(i)%values(41))
    items(i)%values = i
  end do
  word = repeat('x', 57)
  wide = repeat(4_'y', 59)
  pts(1)%x = 1; grid = 2; flags = .true.; names = 'a'; scalar = 1; one%x = 2
  table = 1; window = 1; thin = 1; like = 3
  two = pts(1:501)
  call fill(filled, 1501)
  cs = computed(901)
  numbers = counted(12)
  call automatic(5003)
  call add(1)
  call add(2)
  call keep(1207)
  call join(repeat('l', 211), repeat('r', 307))
  call various(1601)
  call made(24 * 1001, 1, 'point[]', here)
  call made(24 * 501, 1, 'point[]', here)
  call made(8 * 101 * 203, 1, 'real(kind=8)[]', here)
  call made(8 * 101 * 202, 1, 'real(kind=8)[]', here)
  call made(8 * 103 * 207, 1, 'real(kind=8)[]', here)
  call made(40, 1, 'ring', here)
  call made(32 * 7, 1, 'circle[]|circle[]+', here)
  call made(32, 1, 'shape+', here)
  call made(4 * 12, 2, 'integer(kind=4)[]|-', 'kinds::counted')
  call made(110, 1, 'character(kind=1,len=10)[]', here)
  call made(4 * 1300, 1, 'logical(kind=4)[]', here)
  call made(8, 1, 'real(kind=8)', here)
  call made(24, 1, 'point', here)
  call made(4 * 17 * 19, 1, 'real(kind=4)[]', here)
  call made(8 * 61, 1, 'real(kind=8)[]', here)
  call made(8 * 307, 1, 'complex(kind=4)[]', here)
  call made(storage_size(items) / 8 * 3, 1, 'item[]', here)
  call made(8 * 41, 3, 'real(kind=8)[]', here)
  call made(57, 1, 'character(kind=1)[]', here)
  call made(4 * 59, 1, 'character(kind=4)[]', here)
  call made(storage_size(items) / 8, 2, 'item', 'kinds::add')
  call made(8 * 33, 2, 'real(kind=8)[]', 'kinds::add')
  call made(77, 2, 'character(kind=1)[]', 'kinds::add')
  call made(40, 2, 'ring', 'kinds::add')
  call look(many, wide)
  print *, two(3)%x, sum(copy), size(filled), real(cs(1)), names(1), flags(3), like(1, 1), word
  print *, ichar(wide(1:1)), storage_size(s), storage_size(of_source), numbers(3)
end program
