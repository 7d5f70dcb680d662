-- SPDX-License-Identifier: Apache-2.0
-- Allocates in each way that Ada has. Prints "made SIZE BLOCKS FUNCTION TYPE" of each kind of
-- block; each has a size of its own (of blocks of several sizes the largest). TYPE|TYPE: either;
-- -: none.
with Ada.Containers.Doubly_Linked_Lists;
with Ada.Containers.Hashed_Maps;
with Ada.Containers.Ordered_Maps;
with Ada.Containers.Vectors;
with Ada.Strings.Unbounded; use Ada.Strings.Unbounded;
with Ada.Text_IO;
with Languages_Shapes;
procedure Languages is
   subtype Rec is Languages_Shapes.Rec;
   type Node;
   type Node_Access is access Node;
   type Node is record Next : Node_Access; Text : String (1 .. 52); end record;
   type Ints is array (Positive range <>) of Integer;
   type Ints_Access is access Ints;
   type Grid is array (Integer range <>, Integer range <>) of Long_Float;
   type Grid_Access is access Grid;
   type String_Access is access String;
   type Fixed is array (1 .. 27) of Long_Float;
   type Fixed_Access is access Fixed;
   type Disc (N : Natural) is record Name : String (1 .. N); end record;
   type Disc_Access is access Disc;
   type Entry_Type is record Key : Integer; Values : Fixed; end record;
   package Vectors is new Ada.Containers.Vectors (Positive, Rec, Languages_Shapes."=");
   package Lists is new Ada.Containers.Doubly_Linked_Lists (Entry_Type);
   package Maps is new Ada.Containers.Ordered_Maps (Integer, Rec, "=" => Languages_Shapes."=");
   function Hash (K : Integer) return Ada.Containers.Hash_Type is (Ada.Containers.Hash_Type (K));
   package Hashed is new Ada.Containers.Hashed_Maps (Integer, Languages_Shapes.Table, Hash, "=",
                                                     Languages_Shapes."=");
   type Quad is record A, B, C, D, E, F : Long_Float; end record;
   type Quad_Access is access Quad;
   task type Job is
      entry Start;
   end Job;
   Head : Node_Access;
   I : Ints_Access;
   G : Grid_Access;
   S : String_Access;
   F : Fixed_Access;
   D : Disc_Access;
   Q : Quad_Access;
   V : Vectors.Vector;
   L : Lists.List;
   M : Maps.Map;
   H : Hashed.Map;
   U : Unbounded_String;
   Sh, Wi : Languages_Shapes.Shape_Access;
   Hd : Languages_Shapes.Held_Access;
   J : Job;
   task body Job is
   begin
      accept Start;
      Q := new Quad'(others => 1.0);
   end Job;
   procedure Fill (Count : Positive) is
   begin
      for K in 1 .. Count loop
         V.Append ((K, K, 1.0));
         L.Append ((K, (others => 1.0)));
         M.Insert (K, (K, K, 1.0));
         H.Insert (K, (others => 1.0));
      end loop;
   end Fill;
   procedure Made (Size, Blocks : Natural; Where, Kind : String) is
   begin
      Ada.Text_IO.Put_Line ("made" & Size'Image & Blocks'Image & " " & Where & " " & Kind);
   end Made;
begin
   Languages_Shapes.Keep;
   for K in 1 .. 3 loop
      Head := new Node'(Head, (others => ' '));
   end loop;
   I := new Ints (1 .. 1001);
   I (1) := 3;
   G := new Grid (-2 .. 10, 5 .. 15);
   G (0, 5) := 2.0;
   S := new String'("hello world, a string");
   F := new Fixed;
   F (1) := 1.0;
   D := new Disc (77);
   Fill (100);
   for K in 1 .. 30 loop
      Append (U, "some more text");
   end loop;
   Sh := Languages_Shapes.Make (3);
   Wi := Languages_Shapes.Widen (5);
   Hd := Languages_Shapes.Hold;
   J.Start;
   while not J'Terminated loop
      delay 0.0;
   end loop;
   Made (16, 100, "languages_shapes.keep", "languages_shapes.rec|-");
   Made (64, 3, "languages", "languages.node");
   Made (8 + 4 * 1001, 1, "languages", "integer[]");
   Made (16 + 8 * 13 * 11, 1, "languages", "long_float[]");
   Made (32, 1, "languages", "character[]");
   Made (8 * 27, 1, "languages", "long_float[]");
   Made (84, 1, "languages", "languages.disc");
   Made (8 * 6, 1, "languages.job", "languages.quad|-");
   Made (8 + 16 * 128, 7, "languages.fill", "languages.vectors.elements_type");
   Made (240, 100, "languages.fill", "languages.lists.node_type");
   Made (48, 100, "languages.fill", "languages.maps.node_type");
   Made (264, 100, "languages.fill", "languages.hashed.node_type");
   Made (560, 5, "languages", "character[]|-");
   Made (56, 1, "languages_shapes.make", "languages_shapes.square");
   Made (32, 1, "languages_shapes.widen", "languages_shapes.wide|languages_shapes.wide+");
   Made (16 + 8 + 8 * 31, 1, "languages_shapes.hold", "-");
   Ada.Text_IO.Put_Line (Length (U)'Image & Sh.Sides'Image & Wi.Sides'Image & D.Name (1 .. 2)
                         & S (1 .. 2) & Hd.V'Length'Image & Q.A'Image);
end Languages;
