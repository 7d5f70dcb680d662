{ SPDX-License-Identifier: Apache-2.0 }
unit languages_unit;
{$mode objfpc}
interface
type
  PRec = ^TRec;
  TRec = record
    Number: Integer;
    Values: array[1..11] of Double;
  end;
function MakeRec(Number: Integer): PRec;
procedure DropRec(Rec: PRec);
implementation
function MakeRec(Number: Integer): PRec;
begin
  New(Result);
  Result^.Number := Number;
end;

procedure DropRec(Rec: PRec);
begin
  Dispose(Rec);
end;
end.
