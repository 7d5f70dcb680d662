-- SPDX-License-Identifier: Apache-2.0
-- Types of languages.adb, and a function that allocates for its callers.
with Ada.Finalization;
package Languages_Shapes is
   type Shape is tagged record Edge : Long_Float; end record;
   function Sides (S : Shape) return Integer;
   type Shape_Access is access Shape'Class;
   type Square is new Shape with record Colour : String (1 .. 40); end record;
   overriding function Sides (S : Square) return Integer;
   -- Twice as large as a Shape.
   type Wide is new Shape with record A, B : Long_Float; end record;
   function Widen (N : Integer) return Shape_Access;
   function Make (N : Integer) return Shape_Access;

   type Rec is record A, B : Integer; X : Long_Float; end record;
   type Rec_Access is access Rec;
   Kept : array (1 .. 100) of Rec_Access;
   procedure Keep;

   type Table is array (1 .. 31) of Long_Float;
   type Held is new Ada.Finalization.Controlled with record V : Table; end record;
   type Held_Access is access Held;
   function Hold return Held_Access;
end Languages_Shapes;
