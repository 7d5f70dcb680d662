-- SPDX-License-Identifier: Apache-2.0
-- The same with an index, made before the rows: the query needs no sorting.
CREATE TABLE visit(id INTEGER PRIMARY KEY, page TEXT, ms INT);
CREATE INDEX by_page ON visit(page, ms);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
  INSERT INTO visit SELECT i, 'page ' || (i % 500), i * 7919 % 1000 FROM n;
SELECT count(*), sum(ms) FROM (SELECT page, avg(ms) AS ms FROM visit GROUP BY page ORDER BY ms);
