{ SPDX-License-Identifier: Apache-2.0 }
{ Allocates in the ways that Free Pascal has, from procedures that call each other, over the C
  library's allocator. Prints "made SIZE BLOCKS FUNCTION -" of each kind of block, and "under
  FUNCTION CALLERS": who called it, the nearest first. }
program languages;
{$mode objfpc}{$H+}
uses
  cmem, languages_unit;
type
  TThing = class
    A, B: Int64;
    constructor Create(Count: Integer);
    destructor Destroy; override;
  private
    Inner: PRec;
  end;
  TInts = array of Int64;
var
  Kept: array[1..200] of TThing;
  Ints: TInts;
  Text: AnsiString;

constructor TThing.Create(Count: Integer);
begin
  inherited Create;
  A := Count;
  Inner := MakeRec(Count);
end;

destructor TThing.Destroy;
begin
  DropRec(Inner);
  inherited Destroy;
end;

procedure MakeThings(Count: Integer);
var
  I: Integer;
begin
  for I := 1 to Count do
    Kept[I] := TThing.Create(I);
end;

procedure MakeArray(Count: Integer);
begin
  SetLength(Ints, Count);
  Ints[Count - 1] := Count;
end;

procedure MakeText(Count: Integer);
begin
  SetLength(Text, Count);
  FillChar(Text[1], Count, 'x');
end;

procedure Outer(Depth: Integer);
var
  Room: array[0..99] of Int64;
begin
  Room[Depth] := Depth;
  if Depth > 0 then
    Outer(Depth - 1)
  else
  begin
    MakeThings(200);
    MakeArray(1001);
    MakeText(2003);
  end;
  if Room[Depth] <> Depth then
    Halt(3);
end;

begin
  Outer(3);
  Kept[200].Free;
  { a block of cmem's begins with its size; an array and a string with what is counted }
  writeln('made ', 8 + TThing.InstanceSize, ' 200 TTHING::CREATE -');
  writeln('made ', 8 + SizeOf(TRec), ' 200 MAKEREC -');
  writeln('made ', 8 + 16 + 8 * 1001, ' 1 MAKEARRAY -');
  writeln('made ', 8 + 24 + 2003 + 1, ' 1 MAKETEXT -');
  writeln('under MAKEARRAY OUTER OUTER OUTER OUTER main');
  writeln('under MAKETEXT OUTER OUTER OUTER OUTER main');
  writeln('under TTHING::CREATE MAKETHINGS OUTER OUTER OUTER OUTER main');
  writeln('under MAKEREC TTHING::CREATE MAKETHINGS OUTER OUTER OUTER OUTER main');
  writeln(Text[1], Ints[1000], Kept[3].A);
end.
