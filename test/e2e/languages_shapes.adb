-- SPDX-License-Identifier: Apache-2.0
package body Languages_Shapes is
   function Sides (S : Shape) return Integer is (0);
   function Sides (S : Square) return Integer is (4);
   function Make (N : Integer) return Shape_Access is
   begin
      if N = 0 then
         return new Shape'(Edge => 1.0);
      end if;
      return new Square'(Edge => 2.0, Colour => (others => 'c'));
   end Make;
   function Widen (N : Integer) return Shape_Access is
      S : constant Shape_Access := new Wide;
   begin
      S.Edge := Long_Float (N);
      return S;
   end Widen;
   procedure Keep is
   begin
      for K in Kept'Range loop
         Kept (K) := new Rec'(K, K, 1.0);
      end loop;
   end Keep;
   function Hold return Held_Access is (new Held);
end Languages_Shapes;
