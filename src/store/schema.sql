-- SPDX-License-Identifier: Apache-2.0
-- The session file. A .shiny file is an SQLite 3 database: open it with any tool that can.
--
-- The v_ views are the public interface: from version 0.1.0 on their names and columns stay, later
-- versions add. The tables below them change with user_version; a session of another user_version
-- is refused. Units: *_ns are nanoseconds since the session's start, sizes are bytes as requested by the program, addresses
-- are the process's own (negative where bit 63 is set). Ids start at 1; 0 or NULL means none.
--
-- The comments are data: a line "column, -- text" becomes a row of table documentation, and so does the comment in front of a
-- CREATE (blank_make.c reads them, `shinyctl info --schema` prints them). So a column without a
-- comment is a failed test. The build repeats a line with {sum} for each sum of blocks, and one with
-- {rare} for each that is 0 in most rows (sum_list.h, scripts/sums).

PRAGMA application_id = 0x53686e79; -- "Shny"

-- What every table, view and column means, taken from the comments of the schema.
CREATE TABLE documentation (
	object TEXT NOT NULL, -- table or view
	kind TEXT NOT NULL, -- table or view
	position INTEGER NOT NULL, -- 0: the object itself, else its columns from 1
	name TEXT NOT NULL, -- column, empty for the object itself
	text TEXT NOT NULL -- what it means
);

-- Facts about the recording. `complete` is 1 when the sidecar finished it; without it the file ends at the last commit.
CREATE TABLE session (
	key TEXT NOT NULL PRIMARY KEY, -- name of the fact
	value ANY -- text or number
) WITHOUT ROWID;

-- Processes of the session: exec'd images and forked children.
CREATE TABLE process (
	id INTEGER PRIMARY KEY, -- id in this file
	parent INTEGER, -- process.id that forked or exec'd it, 0 unknown
	pid INTEGER, -- as the sidecar's pid namespace sees it, 0 unknown
	namespace_pid INTEGER, -- as it sees itself
	name TEXT, -- name of the program
	role TEXT, -- "browser", "renderer", ...; empty for programs that have none
	executable TEXT, -- path
	command TEXT, -- command line
	start_ns INTEGER, -- first seen
	end_ns INTEGER, -- end, 0 still running when the recording ended
	ending TEXT, -- exited, killed, replaced (another program by exec), unknown, running
	attach TEXT, -- how its allocator was reached: symbols, partition_alloc, entries (patched), none
	attach_text TEXT, -- the evidence for that, in words
	events INTEGER, -- records decoded from it
	forked_ns INTEGER, -- what its parent held then, it inherited; 0: it was not forked
	purpose TEXT, -- what its command line says beyond the role: extension, network.mojom.NetworkService, ...; empty for none
	status INTEGER, -- exit status, or the number of the signal where it was killed; NULL unknown
	early INTEGER NOT NULL, -- 1: it ended before the session's end, or exec replaced it
	within INTEGER NOT NULL, -- process.id in whose blocks its objects lie; 0: it is a process
	heap TEXT, -- kind of their pools: palloc, apr_pool, ...; empty for a process
	sample INTEGER NOT NULL -- SHINY_SAMPLE, bytes: its blocks are a sample; 0: all are recorded
);

-- Threads of the processes.
CREATE TABLE thread (
	id INTEGER PRIMARY KEY, -- id in this file
	process INTEGER, -- process.id
	tid INTEGER, -- in its own pid namespace
	creator INTEGER, -- thread.id that created it, 0 unknown or the main thread
	name TEXT, -- thread name
	start_ns INTEGER, -- first seen
	end_ns INTEGER, -- end, 0 still running
	nested INTEGER -- 1: events of signal handlers that interrupted this tid's own stream
);

-- ELF files that were mapped.
CREATE TABLE module (
	id INTEGER PRIMARY KEY, -- id in this file
	path TEXT, -- path
	build_id TEXT, -- GNU build-id in hex, empty for none
	symbols TEXT, -- best names found: dwarf, breakpad, symtab, dynsym, none; missing or changed when the file was not the mapped one
	debug_file TEXT, -- separate debug file used, or NULL
	note TEXT, -- what is missing and how to get it
	places TEXT -- what places of code without names rest on: neighbours, strings; NULL none
);

-- Where a module was mapped.
CREATE TABLE mapping (
	process INTEGER, -- process.id
	module INTEGER, -- module.id
	start_address INTEGER, -- lowest address
	end_address INTEGER, -- address behind the highest
	bias INTEGER, -- run-time address minus address in the file
	loaded_ns INTEGER, -- first seen
	unloaded_ns INTEGER -- unmapped, 0 mapped until the end
);

-- Function names, each once.
CREATE TABLE function (
	id INTEGER PRIMARY KEY, -- id in this file
	name TEXT NOT NULL -- demangled
);

-- Source files, each once.
CREATE TABLE source (
	id INTEGER PRIMARY KEY, -- id in this file
	path TEXT NOT NULL -- as the debug information spells it
);

-- Return addresses.
CREATE TABLE frame (
	id INTEGER PRIMARY KEY, -- id in this file
	module INTEGER, -- module.id, 0 outside any
	vaddr INTEGER -- address in the file (run-time address minus bias)
);

-- Functions of a frame, inline functions expanded.
CREATE TABLE frame_line (
	frame INTEGER NOT NULL, -- frame.id
	depth INTEGER NOT NULL, -- 0: innermost inline function; the highest one physically holds the address
	function INTEGER, -- function.id, NULL unknown
	source INTEGER, -- source.id, NULL unknown; a directory, perhaps, where no function is known
	line INTEGER, -- line in the source, 0 unknown
	inlined INTEGER, -- 1: inlined into the next depth
	PRIMARY KEY (frame, depth)
) WITHOUT ROWID;

-- Call stacks, when the recording is finished: the six innermost frames here, six more in each
-- stack_tail. v_stack_frames puts them together.
CREATE TABLE stack (
	id INTEGER PRIMARY KEY, -- id in this file
	site INTEGER, -- site.id
	frame0 INTEGER, -- frame.id of the innermost frame
	frame1 INTEGER, -- of its caller; NULL no more
	frame2 INTEGER, -- of that one's caller
	frame3 INTEGER, -- and so on
	frame4 INTEGER, -- and so on
	frame5 INTEGER, -- and so on
	tail INTEGER -- stack_tail.id with the further callers, NULL no more
) WITHOUT ROWID;

-- The stacks of a recording that isn't finished, packed. When it is, table stack has them, and this
-- one is empty.
CREATE TABLE stack_waiting (
	first INTEGER PRIMARY KEY, -- stack.id of the first one; the others follow it
	data BLOB NOT NULL -- of each frame0 to frame5 and tail, 32 bits each, lowest byte first; 0: NULL
);

-- Outer parts of stacks, each once: stacks that were called the same way share them.
CREATE TABLE stack_tail (
	id INTEGER PRIMARY KEY, -- id in this file, higher than that of its own tail
	frame0 INTEGER, -- frame.id of the innermost frame of this part
	frame1 INTEGER, -- of its caller; NULL no more
	frame2 INTEGER, -- of that one's caller
	frame3 INTEGER, -- and so on
	frame4 INTEGER, -- and so on
	frame5 INTEGER, -- and so on
	tail INTEGER -- stack_tail.id with the further callers, NULL no more
);

-- Call sites, made when the recording is finished: the first function of a stack, inline functions
-- expanded, that is neither in table boring nor, with its frame, in table wrapper. Stacks with the
-- same function, file and line share a site; without a function and a file, those with the same
-- address and the same named caller.
CREATE TABLE site (
	id INTEGER PRIMARY KEY, -- id in this file
	frame INTEGER, -- frame.id of one stack of the site
	module INTEGER, -- module.id
	function INTEGER, -- function.id, NULL unknown
	source INTEGER, -- source.id, NULL unknown
	line INTEGER, -- line in the source, 0 unknown
	above INTEGER -- function.id: the named caller of a site without function and source; NULL: none
);

-- Frames in allocation wrappers that were found: functions that hand a block on to their callers as
-- they got it, and that are declared so or called by many. They are nobody's call site.
CREATE TABLE wrapper (
	frame INTEGER PRIMARY KEY -- frame.id
);

-- Functions, modules and source files that are nobody's call site: those of boring.rules, and the
-- wrappers and functions of the type rules, the user's included.
CREATE TABLE boring (
	kind TEXT NOT NULL, -- of function (a demangled name's start), module (file name), source (path)
	pattern TEXT NOT NULL -- the name; * stands for any text
);


-- Vtables that pointers in blocks led to.
CREATE TABLE vtable (
	id INTEGER PRIMARY KEY, -- id in this file
	module INTEGER, -- module.id
	vaddr INTEGER, -- address point, in the file
	source TEXT, -- symbol, rtti, label (it has no name), building (a construction vtable), kind (no vtable: what describes a kind of garbage-collected objects), text (the name that the allocator received), g_type, ob_type and isa (the name by which GObject, Python or Objective-C knows the type), pool (the pool whose objects lie in the block), none
	type TEXT, -- class name or label, NULL when source is none
	class_bytes INTEGER -- size of the class, 0 unknown
);

-- Classes whose constructors and destructors were recorded (SHINY_CTORS): what events of these say.
CREATE TABLE class (
	id INTEGER PRIMARY KEY, -- id in this file
	module INTEGER NOT NULL, -- module.id of the executable
	name TEXT NOT NULL, -- with its namespaces
	bytes INTEGER NOT NULL, -- its size, 0 unknown
	constructors INTEGER NOT NULL, -- functions that were patched
	destructors INTEGER NOT NULL, -- likewise
	unpatched INTEGER NOT NULL, -- constructors and destructors that could not be: what they made is not in the events
	inlined INTEGER NOT NULL -- places where one was inlined, likewise; -1 not known
);

-- What threads were at, in the program's own words (shiny.h).
CREATE TABLE tag (
	id INTEGER PRIMARY KEY, -- id in this file
	name TEXT NOT NULL UNIQUE -- as the program spells it
);

-- Moments that have a name: set by the program (shiny.h), or from outside (shinyctl tell).
CREATE TABLE mark (
	id INTEGER PRIMARY KEY, -- id in this file
	process INTEGER NOT NULL, -- process.id, 0 from outside
	thread INTEGER NOT NULL, -- thread.id, 0 from outside
	ns INTEGER NOT NULL, -- when
	name TEXT NOT NULL -- need not be the only one
);

-- Changes of the rate of a sample that has a budget.
CREATE TABLE sample_rate (
	id INTEGER PRIMARY KEY, -- id in this file
	ns INTEGER NOT NULL, -- when the sidecar set it: each thread follows at its next look
	mean INTEGER NOT NULL -- bytes between two blocks of a thread's sample, on average
);

-- Programs that were started in this session and are not recorded: nothing of their memory is in this file.
CREATE TABLE unrecorded (
	id INTEGER PRIMARY KEY, -- id in this file
	parent INTEGER NOT NULL, -- process.id that started it, or became it by exec; 0 unknown
	pid INTEGER NOT NULL, -- as it saw itself, 0 unknown
	name TEXT NOT NULL, -- name of the program
	executable TEXT NOT NULL, -- path, as far as it is known
	reason TEXT NOT NULL, -- why, in one word
	text TEXT NOT NULL, -- why, in words
	choice INTEGER NOT NULL, -- 1: somebody asked for it (SHINY_FOLLOW); 0: it was meant to be recorded
	ns INTEGER NOT NULL -- when, 0 unknown
);

-- What types blocks have, as concluded from their call sites and vptrs. Where several of its columns differ, a type has several rows.
CREATE TABLE type (
	id INTEGER PRIMARY KEY, -- id in this file
	name TEXT NOT NULL, -- of the object, or of one element of an array or buffer; words that are no type where confidence is label
	container TEXT, -- the container whose storage it is, NULL none
	form TEXT NOT NULL, -- object, array, node (of the container), buffer (the container's elements)
	rule TEXT NOT NULL, -- what it was concluded from: constructor, variable, allocator, vptr, both (site and vptr agree), learned, run_time, ...
	confidence TEXT NOT NULL, -- exact, high, medium, low, label
	source TEXT NOT NULL, -- site; or how the vptr's class got its name: symbol, rtti, label, building
	bytes INTEGER NOT NULL, -- size of name, 0 unknown
	or_derived INTEGER NOT NULL -- 1: it is name or a class derived from it
);

-- Most rows of view stat, in a third less space: of blocks without a tag, none of which realloc
-- made, a fork brought along, or ended without a free. What follows from other columns is missing.
CREATE TABLE stat_short (
	process INTEGER NOT NULL, -- process.id
	stack INTEGER NOT NULL, -- stack.id of the allocation, 0 unknown
	vtable INTEGER NOT NULL, -- vtable.id, 0 no vptr was seen
	how INTEGER NOT NULL, -- api + 32 * reading, as in view stat
	allocs INTEGER NOT NULL, -- blocks that began
	remaining INTEGER NOT NULL, -- of these, not freed: live; abandoned as -count
	bytes INTEGER, -- requested, over allocs; NULL: allocs * max_size
	remaining_bytes INTEGER, -- of those not freed; NULL: as many times max_size
	max_size INTEGER NOT NULL, -- largest request
	spread INTEGER NOT NULL, -- the smallest request is so much smaller
	size_step INTEGER NOT NULL, -- as in view stat
	type INTEGER NOT NULL, -- type.id, 0 unknown
	at_peak INTEGER NOT NULL, -- as in view stat
	at_peak_bytes INTEGER, -- as in view stat; NULL: at_peak * max_size
	PRIMARY KEY (process, stack, vtable)
) WITHOUT ROWID;

-- The other rows of view stat.
CREATE TABLE stat_long (
	process INTEGER NOT NULL, -- as in view stat
	stack INTEGER NOT NULL, -- as in view stat
	vtable INTEGER NOT NULL, -- as in view stat
	tag INTEGER NOT NULL, -- as in view stat
	reading INTEGER NOT NULL, -- as in view stat
	{sum} INTEGER NOT NULL, -- as in view stat
	reused INTEGER NOT NULL, -- as in view stat
	released INTEGER NOT NULL, -- as in view stat
	max_size INTEGER NOT NULL, -- as in view stat
	min_size INTEGER NOT NULL, -- as in view stat
	size_step INTEGER NOT NULL, -- as in view stat
	api INTEGER NOT NULL, -- as in view stat
	type INTEGER NOT NULL, -- as in view stat
	PRIMARY KEY (process, stack, vtable, tag)
) WITHOUT ROWID;

-- What happened to the blocks of one process, stack, vtable and tag. Every block is counted in
-- exactly one row: allocs + inherited_frees = frees + live + abandoned; see `shinyctl help
-- definitions`.
-- Example: SELECT stack, allocs, live_bytes FROM stat ORDER BY live_bytes DESC LIMIT 10;
CREATE VIEW stat AS SELECT
	t.process AS process, -- process.id
	t.stack AS stack, -- stack.id of the allocation, 0 unknown
	t.vtable AS vtable, -- vtable.id, 0 no vptr was seen
	0 AS tag, -- tag.id of the thread that allocated it, 0 none
	t.how
		>> 5 AS reading, -- of a vptr: 0 settled, 1 asked for, 2 at exit, 3 at free; +8: word 2
	t.allocs AS allocs, -- blocks that began
	0 AS {rare}, -- {meaning}
	CASE WHEN t.remaining < 0 THEN t.allocs + t.remaining
		ELSE t.allocs - t.remaining END AS frees, -- blocks that ended
	0 AS reused, -- of these, that nobody freed: another one took their place
	0 AS released, -- of these, garbage-collected objects whose memory was given back
	COALESCE(t.bytes,
		t.allocs * t.max_size) AS bytes, -- requested, and what objects grew by
	CASE WHEN t.remaining > 0 THEN t.remaining
		ELSE 0 END AS live, -- blocks at the session's end
	CASE WHEN t.remaining > 0 THEN COALESCE(t.remaining_bytes, t.remaining * t.max_size)
		ELSE 0 END AS live_bytes, -- their bytes
	CASE WHEN t.remaining < 0 THEN -t.remaining
		ELSE 0 END AS abandoned, -- blocks never freed, of a process with early = 1
	CASE WHEN t.remaining < 0 THEN COALESCE(t.remaining_bytes, -t.remaining * t.max_size)
		ELSE 0 END AS abandoned_bytes, -- their bytes
	t.at_peak AS at_peak, -- blocks that were live at the session's peak
	COALESCE(t.at_peak_bytes,
		t.at_peak * t.max_size) AS at_peak_bytes, -- their bytes
	t.max_size AS max_size, -- largest request
	t.max_size - t.spread AS min_size, -- smallest request
	t.size_step AS size_step, -- every size is min_size + k * size_step; 0: all are the same
	t.how
		& 31 AS api, -- 0 malloc, 1 calloc, 2 realloc, 3 memalign, 4 new, 5 new[], 6 and 7 these two aligned, 13 malloc or new, 15 a garbage collector, 16 zend, 17 libpas, 18 one of SHINY_ALLOCATOR's file, 19 g_slice, 20 and 21 CPython's memory and objects; of the second level 22 palloc, 23 apr_pool, 24 ngx_pool, 25 one of that file's pools
	t.type AS type -- type.id, 0 unknown
FROM stat_short t UNION ALL SELECT
	process, stack, vtable, tag, reading, allocs,
	{rare},
	frees, reused, released, bytes, live, live_bytes, abandoned, abandoned_bytes, at_peak,
	at_peak_bytes, max_size, min_size, size_step, api, type
FROM stat_long;

-- View stat added up a site, for reports that need not know single stacks: a tenth of its rows. The
-- columns of the key stand first: with another between them, integrity_check of SQLite 3.40 calls
-- every row NULL.
CREATE TABLE site_stat (
	process INTEGER NOT NULL, -- process.id
	site INTEGER NOT NULL, -- site.id, 0: no stack
	type INTEGER NOT NULL, -- type.id, 0 unknown
	vtable INTEGER NOT NULL, -- vtable.id, 0 no vptr was seen
	reading INTEGER NOT NULL, -- when the vptr was read, as in view stat
	tag INTEGER NOT NULL, -- tag.id, 0 none
	{sum} INTEGER NOT NULL, -- {meaning}
	reused INTEGER NOT NULL, -- of the frees: another block took their place, and nobody had freed them
	released INTEGER NOT NULL, -- of the frees: garbage-collected objects whose memory was given back
	max_size INTEGER NOT NULL, -- largest request
	min_size INTEGER NOT NULL, -- smallest request
	PRIMARY KEY (process, site, type, vtable, reading, tag)
) WITHOUT ROWID;

-- Histogram of lifetimes in powers of two.
CREATE TABLE lifetime (
	process INTEGER NOT NULL, -- process.id
	site INTEGER NOT NULL, -- site.id, 0: no stack
	type INTEGER NOT NULL, -- type.id, 0 unknown
	bin INTEGER NOT NULL, -- 2^bin <= lifetime in ns < 2^(bin+1); bin 0 also holds 0
	censored INTEGER NOT NULL, -- 1: alive when its process, or the recording, ended or exec replaced the program: nobody freed it
	count INTEGER NOT NULL, -- blocks; none that a fork brought along: over all rows, as many as allocs
	bytes INTEGER NOT NULL, -- their bytes
	PRIMARY KEY (process, site, type, bin, censored)
) WITHOUT ROWID;

-- What can at most have been live at once from one site of one process, of one tag: the peaks of its stacks, added up.
CREATE TABLE peak (
	process INTEGER NOT NULL, -- process.id
	site INTEGER NOT NULL, -- site.id, 0: no stack
	tag INTEGER NOT NULL, -- tag.id, 0 none
	peak_blocks INTEGER NOT NULL, -- blocks
	peak_bytes INTEGER NOT NULL, -- bytes
	peak_ns INTEGER NOT NULL, -- when the stack with the most bytes had them
	PRIMARY KEY (process, site, tag)
) WITHOUT ROWID;

-- The timeline in buckets: of each process those in which something happened. What is live stays as it was until its next one.
CREATE TABLE bucket (
	process INTEGER NOT NULL, -- process.id
	start_ns INTEGER NOT NULL, -- start of the bucket
	length_ns INTEGER NOT NULL, -- its length
	allocs INTEGER NOT NULL, -- blocks that began in it
	frees INTEGER NOT NULL, -- blocks that ended in it
	alloc_bytes INTEGER NOT NULL, -- bytes requested
	free_bytes INTEGER NOT NULL, -- bytes that ended
	live_blocks INTEGER NOT NULL, -- at the bucket's end
	live_bytes INTEGER NOT NULL, -- at the bucket's end
	most_bytes INTEGER NOT NULL, -- live at any moment in it
	PRIMARY KEY (process, start_ns)
) WITHOUT ROWID;

-- The most bytes that were live at once, over all processes.
CREATE TABLE session_peak (
	id INTEGER PRIMARY KEY, -- 1: of blocks; 2: of objects in pools, if there are any
	blocks INTEGER NOT NULL, -- blocks that were live then
	bytes INTEGER NOT NULL, -- their bytes
	ns INTEGER NOT NULL, -- when
	running_ns INTEGER NOT NULL -- when running processes held most: of the sums at_peak
);

-- Pages that held live blocks at the end, of a block the first 2^18, of a process 2^16 and of all 2^23 more; none of a process that ended
-- before the session's end. Blocks that a fork brought along are there, as they fill the child's pages, too.
CREATE TABLE page (
	process INTEGER NOT NULL, -- process.id
	page INTEGER NOT NULL, -- address / 4096
	blocks INTEGER NOT NULL, -- live blocks that begin or reach into it
	live_bytes INTEGER NOT NULL, -- bytes of them inside it
	PRIMARY KEY (process, page)
) WITHOUT ROWID;

-- The address spaces: a row a range that one mapping call made, for as long as its bounds were the same. A change of protection does not end
-- a row. Found by calls of mmap and the like, and, where no hook sees those, in /proc/PID/smaps.
CREATE TABLE segment (
	id INTEGER PRIMARY KEY, -- id in this file
	process INTEGER NOT NULL, -- process.id
	origin INTEGER NOT NULL, -- segment.id of the first row that the same call made; in a forked child, its parent's
	start_address INTEGER NOT NULL, -- lowest address; start = end = 0: memory in no segment
	end_address INTEGER NOT NULL, -- address behind the highest
	born_ns INTEGER NOT NULL, -- first known
	ended_ns INTEGER NOT NULL, -- unmapped or changed, 0 there until the process ended
	source TEXT NOT NULL, -- mmap, mremap, brk: such a call; list: found in /proc/PID/smaps; fork: came along
	stack INTEGER NOT NULL, -- stack.id of the mapping call, 0 unknown
	prot INTEGER NOT NULL, -- protection when it was mapped or found: 1 read, 2 write, 4 execute
	flags INTEGER NOT NULL, -- the call's MAP_ flags, 0 unknown
	shared INTEGER NOT NULL, -- 1: writes reach the file or other processes
	file TEXT, -- path of the mapped file, NULL none or not known
	offset INTEGER NOT NULL, -- where in the file it begins
	name TEXT, -- name given by the program (prctl) or the kernel ([heap]), NULL none
	owner TEXT NOT NULL, -- owner: malloc, modules, stacks, v8, ...; unclassified
	detail TEXT -- what of the owner's it is: pool, file, thread, NULL nothing more to say
);
CREATE INDEX segment_process ON segment (process);

-- What of a segment was resident: a row holds from its time until the segment's next one, or its end.
CREATE TABLE residency (
	segment INTEGER NOT NULL, -- segment.id
	malloc INTEGER NOT NULL, -- 1: its parts in which blocks of malloc lie; 0: the others
	ns INTEGER NOT NULL, -- when the process was sampled
	committed INTEGER NOT NULL, -- bytes that are accessible; the rest is only reserved
	rss INTEGER NOT NULL, -- bytes in memory
	pss INTEGER NOT NULL, -- the same, shared pages divided by the number of processes
	private INTEGER NOT NULL, -- bytes in memory that no other process has
	swap INTEGER NOT NULL, -- bytes swapped out
	live_blocks INTEGER NOT NULL, -- blocks of malloc (malloc 1), or of another heap and collected objects (malloc 0), alive in it
	live_bytes INTEGER NOT NULL, -- their bytes
	PRIMARY KEY (segment, malloc, ns)
) WITHOUT ROWID;

-- Looks at the memory of a process.
CREATE TABLE memory (
	process INTEGER NOT NULL, -- process.id
	ns INTEGER NOT NULL, -- when
	areas INTEGER NOT NULL, -- mappings that the kernel listed; 0: only the sum could be read
	rss INTEGER NOT NULL, -- bytes in memory: the sum over its list
	pss INTEGER NOT NULL, -- the same, shared pages divided by the number of processes
	private INTEGER NOT NULL, -- bytes in memory that no other process has
	swap INTEGER NOT NULL, -- bytes swapped out
	live_blocks INTEGER NOT NULL, -- blocks of malloc alive at that moment
	live_bytes INTEGER NOT NULL, -- their bytes
	cost_ns INTEGER NOT NULL, -- processor time that the sample took
	PRIMARY KEY (process, ns)
) WITHOUT ROWID;

-- What was counted, losses among it.
CREATE TABLE counter (
	process INTEGER NOT NULL, -- process.id, 0 the whole session
	name TEXT NOT NULL, -- name of the counter
	weight TEXT NOT NULL, -- loss: events are missing; note: nothing is
	count INTEGER NOT NULL, -- how many
	text TEXT, -- what it means
	PRIMARY KEY (process, name)
) WITHOUT ROWID;

-- Things worth telling, in words.
CREATE TABLE note (
	process INTEGER NOT NULL, -- process.id, 0 the whole session
	text TEXT NOT NULL -- one line
);

-- Heap snapshots: the live blocks of a process at a moment, and the words that point to them.
CREATE TABLE snapshot (
	id INTEGER PRIMARY KEY, -- id in this file
	process INTEGER NOT NULL, -- process.id
	ns INTEGER NOT NULL, -- when the process stood still
	cause TEXT NOT NULL, -- asked: by `shinyctl tell … snapshot`; exit, mark, peak: by SHINY_SNAPSHOT
	blocks INTEGER NOT NULL, -- live blocks
	bytes INTEGER NOT NULL, -- their bytes
	roots INTEGER NOT NULL, -- places outside the blocks that point into one: rows of table root
	edges INTEGER NOT NULL, -- words that point into a block, those of roots included
	copied INTEGER NOT NULL, -- bytes of the process's memory that were looked through
	unread INTEGER NOT NULL, -- bytes of it that could not be read
	stopped_ns INTEGER NOT NULL, -- how long the process stood still
	took_ns INTEGER NOT NULL -- how long it took to find the edges
);

-- Roots of heap snapshots. A mapping is no allocator's; a wrapper is a word of V8's table of
-- JavaScript objects that stand for collected ones.
CREATE TABLE root (
	snapshot INTEGER NOT NULL, -- snapshot.id
	id INTEGER NOT NULL, -- from 1 in each snapshot; as a node this + snapshot.blocks
	kind TEXT NOT NULL, -- variable, stack, register, thread-local, mapping, wrapper
	module INTEGER NOT NULL, -- module.id of a variable, else 0
	vaddr INTEGER NOT NULL, -- in its file; of a stack in use or a mapping, the lowest
	tid INTEGER NOT NULL, -- of a stack or registers the thread, as the sidecar sees it; else 0
	name TEXT, -- of a variable: its symbol, with the offset in it; NULL unknown
	PRIMARY KEY (snapshot, id)
) WITHOUT ROWID;

-- Which words of a type hold pointers, by its layout, in sessions with heap snapshots.
CREATE TABLE member (
	type INTEGER NOT NULL, -- type.id
	at INTEGER NOT NULL, -- where in the type its first word is
	bytes INTEGER NOT NULL, -- of words in a row with the same answers
	holds TEXT NOT NULL, -- pointer, maybe (a wide integer, a union), nothing (a vptr, padding)
	name TEXT, -- of the member; NULL none
	of TEXT, -- its type, or that of a base class of the C++ library; NULL none
	PRIMARY KEY (type, at)
) WITHOUT ROWID;

-- Blocks and edges of heap snapshots, packed (src/store/snapshot_parts.c).
CREATE TABLE snapshot_part (
	snapshot INTEGER NOT NULL, -- snapshot.id
	part INTEGER NOT NULL, -- from 1
	kind INTEGER NOT NULL, -- 0: blocks in order of address; 1: edges in order of source
	rows INTEGER NOT NULL, -- blocks or edges in it
	data BLOB NOT NULL, -- four columns of numbers, compressed
	PRIMARY KEY (snapshot, part)
);

-- Blocks that were drawn at random while they were live, and watched by the processor's debug
-- registers until the program used them, or for a window (SHINY_ACCESS=watch). Draws are not
-- equally likely: estimates weigh each by `weight`.
CREATE TABLE access (
	id INTEGER PRIMARY KEY, -- id in this file
	process INTEGER NOT NULL, -- process.id
	stack INTEGER NOT NULL, -- stack.id of the allocation, 0 unknown
	vtable INTEGER NOT NULL, -- vtable.id, 0 no vptr was seen
	tag INTEGER NOT NULL, -- tag.id, 0 none
	type INTEGER NOT NULL, -- type.id, 0 unknown
	address INTEGER NOT NULL, -- of the block
	size INTEGER NOT NULL, -- of the block, as requested
	offset INTEGER NOT NULL, -- of the watched word in the block
	bytes INTEGER NOT NULL, -- of the watched word: 1, 2, 4 or 8
	pick TEXT NOT NULL, -- block: each alike, its first word; byte: each alike, its word
	weight INTEGER NOT NULL, -- live blocks or bytes (as picked) that the draw stands for
	born_ns INTEGER NOT NULL, -- when the block was allocated
	armed_ns INTEGER NOT NULL, -- from when on the word was watched, in all threads
	window_ns INTEGER NOT NULL, -- for how long at most; drawn before and not by what happened
	until_ns INTEGER NOT NULL, -- when it was used, or until when it was not
	ending TEXT NOT NULL, -- used; unused: for the window; freed; moved: by realloc; ended
	kind TEXT, -- how it was used: read, write; NULL it was not
	frame INTEGER NOT NULL -- frame.id behind the instruction that used it, 0 unknown
);

-- Mappings with live blocks, and how many of their pages the program touched in a time
-- (SHINY_ACCESS=pages). With touched 0, no block that lived there from from_ns to until_ns was read
-- or written.
CREATE TABLE page_use (
	process INTEGER NOT NULL, -- process.id
	start INTEGER NOT NULL, -- address
	end INTEGER NOT NULL, -- address behind it
	from_ns INTEGER NOT NULL, -- when the kernel's marks were cleared
	until_ns INTEGER NOT NULL, -- when they were counted
	pages INTEGER NOT NULL, -- of 4 KiB, in memory at until_ns
	touched INTEGER NOT NULL -- of these, read or written since from_ns: at most so many
);

-- What a browser that was recorded with --devtools said of its own memory: one row a process of a memory-infra dump, or a page of which
-- V8 took a heap snapshot.
CREATE TABLE browser_sample (
	id INTEGER PRIMARY KEY, -- id in this file
	snapshot INTEGER NOT NULL, -- 1: a heap snapshot; 0: a dump
	process INTEGER NOT NULL, -- process.id, 0 unknown
	pid INTEGER NOT NULL, -- as the browser saw it, 0 unknown
	ns INTEGER NOT NULL, -- when it counted
	title TEXT NOT NULL -- of a dump: what the browser calls the process; of a snapshot: the address of the page
);

-- Names in what the browser said, each once.
CREATE TABLE browser_name (
	id INTEGER PRIMARY KEY, -- id in this file
	name TEXT NOT NULL -- of an allocator, a kind of objects or a constructor
);

-- Allocators in dumps. A name's parts are inside each other: malloc/partitions/allocator.
CREATE TABLE browser_allocator (
	sample INTEGER NOT NULL, -- browser_sample.id
	name INTEGER NOT NULL, -- browser_name.id
	bytes INTEGER NOT NULL, -- its size as the browser says
	effective_bytes INTEGER NOT NULL, -- what of it no other allocator counts
	objects INTEGER NOT NULL, -- object_count, 0 where it gives none
	PRIMARY KEY (sample, name)
) WITHOUT ROWID;

-- Objects in heap snapshots, added up.
CREATE TABLE browser_object (
	sample INTEGER NOT NULL, -- browser_sample.id
	kind INTEGER NOT NULL, -- browser_name.id: native, object, closure, string, ...
	name INTEGER NOT NULL, -- browser_name.id: the constructor or class; strings and numbers have none
	objects INTEGER NOT NULL, -- how many
	bytes INTEGER NOT NULL, -- their own, without what they refer to
	PRIMARY KEY (sample, kind, name)
) WITHOUT ROWID;

-- Events, packed in blocks (block.c); rowid order is the order in which they were applied. Empty with --no-events.
CREATE TABLE events (
	id INTEGER PRIMARY KEY, -- block number
	first_ns INTEGER NOT NULL, -- earliest time in it
	last_ns INTEGER NOT NULL, -- latest time in it
	count INTEGER NOT NULL, -- events
	checkpoint INTEGER NOT NULL, -- 0: what happened; else what lived at it (table kept)
	data BLOB NOT NULL -- zstd frame
);

-- Checkpoints of a recording with SHINY_KEEP that is not finished: the sums up to each, packed
-- (src/sidecar/output/carried_sums.c). Readers begin with kept_checkpoint of table session. When
-- the recording is finished, the other tables have the sums, and this one is empty.
CREATE TABLE kept (
	checkpoint INTEGER NOT NULL, -- events.checkpoint
	process INTEGER NOT NULL, -- process.id; 0: what is of no process
	data BLOB NOT NULL, -- numbers
	PRIMARY KEY (checkpoint, process)
);

-- Which processes have events in which block.
CREATE TABLE events_process (
	process INTEGER NOT NULL, -- process.id
	block INTEGER NOT NULL, -- events.id
	PRIMARY KEY (process, block)
) WITHOUT ROWID;

-- Processes with their totals.
-- Example: SELECT name, role, pid, allocs, live_bytes FROM v_processes ORDER BY live_bytes DESC;
CREATE VIEW v_processes AS SELECT
	p.id AS process, -- process id in this file
	p.parent AS parent, -- process that forked or exec'd it, 0 unknown
	p.pid AS pid, -- as the sidecar saw it
	p.namespace_pid AS namespace_pid, -- as the process saw itself
	p.name AS name, -- name of the program
	p.role AS role, -- "browser", "renderer", ...; empty for programs that have none
	p.executable AS executable, -- path
	p.command AS command, -- command line
	p.start_ns AS start_ns, -- first seen
	p.end_ns AS end_ns, -- end, 0 still running
	p.ending AS ending, -- exited, killed, replaced (another program by exec), unknown, running
	p.attach AS attach, -- how its allocator was reached
	p.attach_text AS attach_text, -- the evidence for that
	p.events AS events, -- records decoded from it
	COALESCE(s.{sum}, 0) AS {sum}, -- {meaning}
	COALESCE(s.vptr_allocs, 0) AS vptr_allocs, -- allocs in which a vptr was read
	COALESCE(s.typed_allocs, 0) AS typed_allocs, -- allocs whose type is known; a label is none
	(SELECT MAX(b.most_bytes) FROM bucket b WHERE b.process = p.id) AS peak_bytes, -- most live bytes at any moment
	(SELECT COUNT(*) FROM thread t WHERE t.process = p.id AND NOT t.nested) AS threads, -- threads seen
	(SELECT CAST(min(total(c.count), 9e18) AS INTEGER) FROM counter c WHERE c.process = p.id AND c.weight = 'loss') AS lost, -- events lost
	p.forked_ns AS forked_ns, -- what its parent held then, it inherited; 0: it was not forked
	p.purpose AS purpose, -- what its command line says beyond the role: extension, network.mojom.NetworkService, ...; empty for none
	p.status AS status, -- exit status, or the number of the signal where it was killed; NULL unknown
	p.early AS early, -- 1: it ended before the session's end, or exec replaced it
	p.within AS within, -- process id in whose blocks its objects lie: in no sum; 0: a process
	p.heap AS heap, -- kind of their pools: palloc, apr_pool, ...; empty for a process
	p.sample AS sample -- SHINY_SAMPLE, bytes: its sums are estimates; 0: they are exact
FROM process p LEFT JOIN (
	SELECT x.process AS process,
		SUM(x.{sum}) AS {sum},
		SUM(CASE WHEN x.vtable THEN x.allocs ELSE 0 END) AS vptr_allocs,
		SUM(CASE WHEN y.confidence <> 'label' THEN x.allocs ELSE 0 END) AS typed_allocs
	FROM site_stat x LEFT JOIN type y ON y.id = x.type GROUP BY x.process) s ON s.process = p.id;

-- Threads of the processes.
-- Example: SELECT process_name, name, tid FROM v_threads WHERE end_ns = 0;
CREATE VIEW v_threads AS SELECT
	t.id AS thread, -- thread id in this file
	t.process AS process, -- process id
	p.name AS process_name, -- its program
	t.tid AS tid, -- in its own pid namespace
	t.name AS name, -- thread name
	t.creator AS creator, -- thread that created it, 0 unknown or the main thread
	t.start_ns AS start_ns, -- first seen
	t.end_ns AS end_ns, -- end, 0 still running
	t.nested AS nested -- 1: events of signal handlers that interrupted this tid's own stream
FROM thread t LEFT JOIN process p ON p.id = t.process;

-- Modules, and how good their names are.
-- Example: SELECT path, note FROM v_modules WHERE symbols NOT IN ('dwarf') AND note <> '';
CREATE VIEW v_modules AS SELECT
	m.id AS module, -- module id in this file
	m.path AS path, -- path
	replace(m.path, rtrim(m.path, replace(m.path, '/', '')), '') AS name, -- file name
	m.build_id AS build_id, -- GNU build-id in hex
	m.symbols AS symbols, -- dwarf, breakpad, symtab, dynsym, none, missing, changed
	m.debug_file AS debug_file, -- separate debug file used
	m.note AS note, -- what is missing and how to get it
	m.places AS places, -- what places of code without names rest on: neighbours, strings; NULL none
	(SELECT COUNT(DISTINCT g.process) FROM mapping g WHERE g.module = m.id) AS processes -- processes that mapped it
FROM module m;

-- Where modules were mapped.
-- Example: SELECT path, printf('%x', start_address) FROM v_mappings WHERE process = 1;
CREATE VIEW v_mappings AS SELECT
	g.process AS process, -- process id
	g.module AS module, -- module id
	m.path AS path, -- its path
	g.start_address AS start_address, -- lowest address
	g.end_address AS end_address, -- address behind the highest
	g.bias AS bias, -- run-time address minus address in the file
	g.loaded_ns AS loaded_ns, -- first seen
	g.unloaded_ns AS unloaded_ns -- unmapped, 0 mapped until the end
FROM mapping g LEFT JOIN module m ON m.id = g.module;

-- Vtables.
-- Example: SELECT type, class_bytes FROM v_vtables WHERE source = 'rtti';
CREATE VIEW v_vtables AS SELECT
	v.id AS vtable, -- vtable id in this file
	v.type AS type, -- class name or label
	v.source AS source, -- symbol, rtti, label, building, none
	v.class_bytes AS class_bytes, -- size of the class, 0 unknown
	v.module AS module, -- module id
	m.path AS path, -- its path
	v.vaddr AS vaddr -- address point, in the file
FROM vtable v LEFT JOIN module m ON m.id = v.module;

-- Classes whose constructors and destructors were recorded.
-- Example: SELECT name FROM v_classes WHERE unpatched OR inlined;
CREATE VIEW v_classes AS SELECT
	c.id AS class, -- class id in this file
	c.name AS name, -- with its namespaces
	c.bytes AS bytes, -- its size, 0 unknown
	c.constructors AS constructors, -- functions that were patched
	c.destructors AS destructors, -- likewise
	c.unpatched AS unpatched, -- constructors and destructors that could not be: what they made is not in the events
	c.inlined AS inlined, -- places where one was inlined, likewise; -1 not known
	c.module AS module, -- module id
	m.path AS path -- its path
FROM class c LEFT JOIN module m ON m.id = c.module;

-- Blocks by the tag of the thread that allocated them, for each process.
-- Example: SELECT tag, SUM(live_bytes) FROM v_tags GROUP BY tag ORDER BY 2 DESC;
CREATE VIEW v_tags AS SELECT
	s.process AS process, -- process id
	COALESCE(t.name, '(no tag)') AS tag, -- its name
	SUM(s.{sum}) AS {sum}{,} -- {meaning}
FROM site_stat s LEFT JOIN tag t ON t.id = s.tag GROUP BY s.process, s.tag;

-- Moments that have a name.
-- Example: SELECT ns / 1e9, name FROM v_marks ORDER BY ns;
CREATE VIEW v_marks AS SELECT
	m.ns AS ns, -- when
	m.name AS name, -- need not be the only one
	m.process AS process, -- process id, 0 from outside
	m.thread AS thread -- thread id, 0 from outside
FROM mark m;

-- Changes of the rate of a sample that has a budget (SHINY_BUDGET).
-- Example: SELECT ns / 1e9, mean FROM v_sample_rates ORDER BY ns;
CREATE VIEW v_sample_rates AS SELECT
	r.ns AS ns, -- when the sidecar set it: each thread follows at its next look
	r.mean AS mean -- bytes between two blocks of a thread's sample from then on, on average
FROM sample_rate r;

-- Blocks that were watched for their next use, with their types and who used them.
-- Example: SELECT type, ending, COUNT(*) FROM v_accesses GROUP BY type, ending;
CREATE VIEW v_accesses AS SELECT
	a.id AS access, -- id in this file
	a.process AS process, -- process id
	y.name AS type, -- as in v_types, NULL unknown
	k.site AS site, -- call site of the allocation, 0 or NULL unknown
	a.size AS size, -- of the block
	a.offset AS offset, -- of the watched word in it
	a.bytes AS bytes, -- of the watched word
	a.pick AS pick, -- block, byte
	a.weight AS weight, -- live blocks or bytes that it stands for
	a.born_ns AS born_ns, -- when the block was allocated
	a.armed_ns AS armed_ns, -- from when on it was watched
	a.window_ns AS window_ns, -- for how long at most
	a.until_ns AS until_ns, -- when it was used, or until when it was not
	a.ending AS ending, -- used, unused, freed, moved, ended
	a.kind AS kind, -- read, write, NULL not used
	f.name AS user -- function that used it
FROM access a LEFT JOIN frame_line l ON l.frame = a.frame AND l.depth = 0
	LEFT JOIN function f ON f.id = l.function LEFT JOIN type y ON y.id = a.type
	LEFT JOIN stack k ON k.id = a.stack;

-- Mappings with live blocks and what was touched of them in a time.
-- Example: SELECT until_ns, SUM(pages), SUM(touched) FROM v_page_uses GROUP BY process, until_ns;
CREATE VIEW v_page_uses AS SELECT
	u.process AS process, -- process id
	u.start AS start, -- address
	u.end AS end, -- address behind it
	u.from_ns AS from_ns, -- when the kernel's marks were cleared
	u.until_ns AS until_ns, -- when they were counted
	u.pages AS pages, -- of 4 KiB, in memory
	u.touched AS touched -- of these, read or written in between: at most so many
FROM page_use u;

-- Programs that were started in this session and are not recorded.
-- Example: SELECT name, reason, COUNT(*) FROM v_unrecorded GROUP BY name, reason ORDER BY 3 DESC;
CREATE VIEW v_unrecorded AS SELECT
	u.id AS unrecorded, -- id in this file
	u.name AS name, -- name of the program
	u.executable AS executable, -- path, as far as it is known
	u.pid AS pid, -- as it saw itself, 0 unknown
	u.reason AS reason, -- why, in one word
	u.text AS text, -- why, in words
	u.choice AS choice, -- 1: somebody asked for it (SHINY_FOLLOW); 0: it was meant to be recorded
	u.ns AS ns, -- when, 0 unknown
	u.parent AS parent, -- process that started it, or became it by exec; 0 unknown
	p.name AS parent_name, -- its program
	p.pid AS parent_pid -- as the sidecar saw it
FROM unrecorded u LEFT JOIN process p ON p.id = u.parent;

-- Types over all processes: one row a name and how it is known. type NULL: blocks of no known type.
-- Example: SELECT type, container, confidence, live_bytes FROM v_types WHERE type IS NOT NULL ORDER BY live_bytes DESC LIMIT 20;
CREATE VIEW v_types AS SELECT
	y.name AS type, -- class name, element type; or words that are no type, such as "module!vtable+0x..." (confidence label)
	y.container AS container, -- container whose storage it is, NULL none
	y.form AS form, -- object, array, node, buffer; NULL unknown
	COALESCE(y.rule, 'none') AS rule, -- what it was concluded from; none: unknown
	y.confidence AS confidence, -- exact, high, medium, low, label; NULL unknown
	COALESCE(y.source, 'none') AS source, -- site, or of a vptr's class name: symbol, rtti, label, building; none: unknown
	CASE y.confidence WHEN 'exact' THEN 'high' ELSE y.confidence END AS certainty, -- the same as confidence, without exact
	MAX(y.or_derived) AS or_derived, -- 1: it is this type or a class derived from it
	MAX(y.bytes) AS class_bytes, -- size of the type, 0 unknown
	SUM(s.{sum}) AS {sum}, -- {meaning}
	MIN(s.min_size) AS min_size, -- smallest request
	MAX(s.max_size) AS max_size, -- largest request
	COUNT(DISTINCT s.stack) AS stacks, -- stacks that made them
	COUNT(DISTINCT s.process) AS processes, -- processes that had them
	SUM(s.reused) AS reused, -- of the frees: another block took their place, and nobody had freed them
	SUM(s.released) AS released -- of the frees: garbage-collected objects whose memory was given back
FROM stat s LEFT JOIN type y ON y.id = s.type
	WHERE s.process NOT IN (SELECT id FROM process WHERE within)
GROUP BY y.name, y.container, y.form, y.rule, y.confidence, y.source;

-- The same for each process.
-- Example: SELECT type, live FROM v_process_types WHERE process = 2 ORDER BY live DESC;
CREATE VIEW v_process_types AS SELECT
	s.process AS process, -- process id
	y.name AS type, -- as in v_types
	y.container AS container, -- container whose storage it is, NULL none
	y.form AS form, -- object, array, node, buffer; NULL unknown
	COALESCE(y.rule, 'none') AS rule, -- what it was concluded from; none: unknown
	y.confidence AS confidence, -- exact, high, medium, low, label; NULL unknown
	COALESCE(y.source, 'none') AS source, -- site, or of a vptr's class name: symbol, rtti, label, building; none: unknown
	SUM(s.{sum}) AS {sum}, -- {meaning}
	SUM(s.reused) AS reused, -- of the frees: another block took their place, and nobody had freed them
	SUM(s.released) AS released -- of the frees: garbage-collected objects whose memory was given back
FROM site_stat s LEFT JOIN type y ON y.id = s.type GROUP BY s.process, y.name, y.container, y.form, y.rule, y.confidence, y.source;

-- The innermost function of every frame.
-- Example: SELECT function, source, line FROM v_frames WHERE frame = 17 ORDER BY depth;
CREATE VIEW v_frames AS SELECT
	f.id AS frame, -- frame id in this file
	COALESCE(l.depth, 0) AS depth, -- 0: innermost inline function
	n.name AS function, -- demangled, NULL unknown
	o.path AS source, -- source file, NULL unknown
	COALESCE(l.line, 0) AS line, -- line in it, 0 unknown
	COALESCE(l.inlined, 0) AS inlined, -- 1: inlined into the next depth
	f.module AS module, -- module id
	m.path AS path, -- path of the module
	f.vaddr AS vaddr, -- address in the module's file
	COALESCE(n.name, replace(m.path, rtrim(m.path, replace(m.path, '/', '')), '') || '+0x' || printf('%x', f.vaddr),
		'0x' || printf('%x', f.vaddr)) ||
		CASE WHEN n.name IS NULL AND o.path LIKE '%/' THEN ' in ' || ltrim(o.path, './')
		WHEN n.name IS NULL AND o.path IS NOT NULL
		THEN ' in ' || replace(o.path, rtrim(o.path, replace(o.path, '/', '')), '')
		ELSE '' END AS label -- the function, or module+offset in its place
FROM frame f LEFT JOIN frame_line l ON l.frame = f.id LEFT JOIN function n ON n.id = l.function
	LEFT JOIN source o ON o.id = l.source LEFT JOIN module m ON m.id = f.module;

-- Stacks, rendered: one row a function, innermost first, inline functions expanded.
-- Example: SELECT label, source, line FROM v_stack_frames WHERE stack = 42 ORDER BY level, depth;
CREATE VIEW v_stack_frames AS SELECT
	k.id AS stack, -- stack id in this file
	j.key AS level, -- frame's place, 0 innermost
	f.depth AS depth, -- inline function's place within the frame, 0 innermost
	f.label AS label, -- the function, or module+offset
	f.function AS function, -- demangled, NULL unknown
	f.source AS source, -- source file, NULL unknown
	f.line AS line, -- line in it, 0 unknown
	f.inlined AS inlined, -- 1: inlined into the next depth
	f.path AS path, -- path of the module
	f.frame AS frame -- frame id
FROM stack k, json_each((
	WITH RECURSIVE part (id, frames, tail) AS (
		SELECT NULL, k.frame0 || COALESCE(',' || k.frame1, '') || COALESCE(',' || k.frame2, '') ||
			COALESCE(',' || k.frame3, '') || COALESCE(',' || k.frame4, '') || COALESCE(',' || k.frame5, ''), k.tail
		UNION ALL SELECT t.id, t.frame0 || COALESCE(',' || t.frame1, '') || COALESCE(',' || t.frame2, '') ||
			COALESCE(',' || t.frame3, '') || COALESCE(',' || t.frame4, '') || COALESCE(',' || t.frame5, ''), t.tail
		FROM part r JOIN stack_tail t ON t.id = r.tail WHERE r.id IS NULL OR t.id < r.id)
	SELECT '[' || group_concat(frames) || ']' FROM part)) j JOIN v_frames f ON f.frame = j.value;

-- Stacks with what they allocated, over all processes. text: functions from the innermost outwards, separated by " < ".
-- Example: SELECT text, live_bytes FROM v_stacks ORDER BY live_bytes DESC LIMIT 10;
CREATE VIEW v_stacks AS SELECT
	s.stack AS stack, -- stack id, 0 unknown
	s.site AS site, -- its call site
	(SELECT group_concat(label, ' < ') FROM (SELECT label FROM v_stack_frames r WHERE r.stack = s.stack ORDER BY level, depth)) AS text, -- the functions, innermost first
	s.{sum} AS {sum}{,} -- {meaning}
FROM (SELECT t.stack AS stack, x.site AS site,
		SUM(t.{sum}) AS {sum}{,}
	FROM stat t LEFT JOIN stack x ON x.id = t.stack
	WHERE t.process NOT IN (SELECT id FROM process WHERE within) GROUP BY t.stack) s;

-- How a call site is called.
-- Example: SELECT label FROM v_site_names WHERE site = 12;
CREATE VIEW v_site_names AS SELECT
	i.id AS site, -- site id in this file
	COALESCE(n.name, replace(m.path, rtrim(m.path, replace(m.path, '/', '')), '') || '+0x' || printf('%x', f.vaddr),
		'0x' || printf('%x', f.vaddr), '(unknown)') ||
		CASE WHEN n.name IS NULL AND o.path LIKE '%/' THEN ' in ' || ltrim(o.path, './')
		WHEN n.name IS NULL AND o.path IS NOT NULL
		THEN ' in ' || replace(o.path, rtrim(o.path, replace(o.path, '/', '')), '')
		ELSE COALESCE(' ← ' || a.name, '') END AS label, -- the function, or module+offset and more
	n.name AS function, -- demangled, NULL unknown
	o.path AS source, -- source file, NULL unknown
	i.line AS line, -- line in it, 0 unknown
	i.module AS module, -- module id
	m.path AS path, -- path of the module
	f.vaddr AS vaddr, -- return address in the module's file, of one of its stacks
	a.name AS above -- the named caller, NULL: not needed, or there is none
FROM site i LEFT JOIN frame f ON f.id = i.frame LEFT JOIN module m ON m.id = i.module LEFT JOIN function n ON n.id = i.function
	LEFT JOIN source o ON o.id = i.source LEFT JOIN function a ON a.id = i.above;

-- Call sites over all processes: the first function of the stack that belongs to neither the allocator nor the C++ library.
-- Example: SELECT label, source, line, live_bytes FROM v_sites ORDER BY live_bytes DESC LIMIT 20;
CREATE VIEW v_sites AS SELECT
	t.site AS site, -- site id in this file, NULL: allocations without a stack
	l.function AS function, -- demangled, NULL unknown
	l.source AS source, -- source file, NULL unknown
	COALESCE(l.line, 0) AS line, -- line in it, 0 unknown
	l.path AS path, -- path of the module
	l.vaddr AS vaddr, -- return address in the module's file, of one of its stacks
	COALESCE(l.label, CASE WHEN EXISTS (SELECT 1 FROM site) THEN '(no stack)'
		ELSE '(unfinished recording: no sites)' END) AS label, -- as in v_site_names
	t.{sum} AS {sum}, -- {meaning}
	t.stacks AS stacks, -- different stacks
	t.processes AS processes, -- processes
	t.types AS types, -- different types of its blocks
	COALESCE(q.bytes, 0) AS peak_bytes_at_most -- its stacks' peaks added up: the site's own peak is at most this
FROM (SELECT x.site AS site,
		SUM(s.{sum}) AS {sum},
		COUNT(DISTINCT s.stack) AS stacks, COUNT(DISTINCT s.process) AS processes,
		COUNT(DISTINCT y.name) AS types
	FROM stat s LEFT JOIN stack x ON x.id = s.stack LEFT JOIN type y ON y.id = s.type
	WHERE s.process NOT IN (SELECT id FROM process WHERE within) GROUP BY x.site) t
	LEFT JOIN (SELECT k.site AS site, SUM(k.peak_bytes) AS bytes FROM peak k
	WHERE k.process NOT IN (SELECT id FROM process WHERE within) GROUP BY k.site) q
		ON q.site = COALESCE(t.site, 0)
	LEFT JOIN v_site_names l ON l.site = t.site;

-- What each site allocates: one row a process, site and type. The base for trees and cross tables.
-- Example: SELECT label, type, SUM(live_bytes) FROM v_site_types GROUP BY site, type ORDER BY 3 DESC LIMIT 20;
CREATE VIEW v_site_types AS SELECT
	s.process AS process, -- process id
	NULLIF(s.site, 0) AS site, -- site id, NULL: no stack
	y.name AS type, -- as in v_types
	y.container AS container, -- container whose storage it is, NULL none
	y.form AS form, -- object, array, node, buffer; NULL unknown
	COALESCE(y.rule, 'none') AS rule, -- what it was concluded from; none: unknown
	y.confidence AS confidence, -- exact, high, medium, low, label; NULL unknown
	COALESCE(y.source, 'none') AS source, -- site, or of a vptr's class name: symbol, rtti, label, building; none: unknown
	l.path AS path, -- path of the site's module
	COALESCE(l.label, '(no stack)') AS label, -- as in v_site_names
	SUM(s.{sum}) AS {sum}{,} -- {meaning}
FROM site_stat s LEFT JOIN v_site_names l ON l.site = s.site LEFT JOIN type y ON y.id = s.type
GROUP BY s.process, s.site, y.name, y.container, y.form, y.rule, y.confidence, y.source;

-- Lifetimes by process and type.
-- Example: SELECT bin, SUM(count) FROM v_lifetimes WHERE NOT censored GROUP BY bin;
CREATE VIEW v_lifetimes AS SELECT
	l.process AS process, -- process id
	y.name AS type, -- as in v_types, NULL unknown
	l.bin AS bin, -- power of two
	CASE WHEN l.bin = 0 THEN 0 ELSE 1 << l.bin END AS from_ns, -- shortest lifetime in the bin
	CASE WHEN l.bin >= 62 THEN 9223372036854775807 ELSE 1 << (l.bin + 1) END AS to_ns, -- the next bin's shortest
	l.censored AS censored, -- 1: alive when its process, or the recording, ended or exec replaced the program: nobody freed it
	SUM(l.count) AS count, -- blocks
	SUM(l.bytes) AS bytes -- their bytes
FROM lifetime l LEFT JOIN type y ON y.id = l.type GROUP BY l.process, y.name, l.bin, l.censored;

-- Lifetimes by process and site.
-- Example: SELECT bin, count FROM v_site_lifetimes WHERE site = 3 AND NOT censored;
CREATE VIEW v_site_lifetimes AS SELECT
	l.process AS process, -- process id
	NULLIF(l.site, 0) AS site, -- site id, NULL: no stack
	l.bin AS bin, -- power of two, as in v_lifetimes
	l.censored AS censored, -- 1: still alive at the end
	SUM(l.count) AS count, -- blocks
	SUM(l.bytes) AS bytes -- their bytes
FROM lifetime l GROUP BY l.process, l.site, l.bin, l.censored;

-- The most bytes that were live at once, over all processes: `shinyctl help definitions`.
-- Example: SELECT bytes, ns / 1e9 FROM v_peak;
CREATE VIEW v_peak AS SELECT
	k.blocks AS blocks, -- blocks that were live then
	k.bytes AS bytes, -- their bytes
	k.ns AS ns, -- when
	k.running_ns AS running_ns -- when running processes held most: of the sums at_peak
FROM session_peak k WHERE k.id = 1;

-- The timeline of each process: the buckets in which something happened. What is live stays as it was until the next row.
-- Example: SELECT start_ns / 1e9, live_bytes FROM v_timeline WHERE process = 1 ORDER BY start_ns;
CREATE VIEW v_timeline AS SELECT
	b.process AS process, -- process id
	b.start_ns AS start_ns, -- start of the bucket
	b.length_ns AS length_ns, -- its length
	b.allocs AS allocs, -- blocks that began in it
	b.frees AS frees, -- blocks that ended in it
	b.alloc_bytes AS alloc_bytes, -- bytes requested
	b.free_bytes AS free_bytes, -- bytes that ended
	b.live_blocks AS live_blocks, -- at the bucket's end
	b.live_bytes AS live_bytes, -- at the bucket's end
	b.most_bytes AS most_bytes -- live at any moment in it
FROM bucket b;

-- Pages that held live blocks at the end, and how full they are; none of a process that ended before.
-- Example: SELECT COUNT(*) FROM v_pages WHERE used < 0.1;
CREATE VIEW v_pages AS SELECT
	g.process AS process, -- process id
	g.page * 4096 AS address, -- the page's address
	g.blocks AS blocks, -- live blocks that begin or reach into it
	g.live_bytes AS live_bytes, -- bytes of them inside it
	g.live_bytes / 4096.0 AS used -- share of the page, 0 to 1
FROM page g;

-- The address spaces over time, with what was resident of each range when its process was last sampled. Owners are explained in
-- `shinyctl memory`; of PartitionAlloc's segments, the parts with malloc's blocks count for the owner malloc there and in v_memory.
-- Example: SELECT owner, detail, SUM(rss) FROM v_segments WHERE process = 1 AND ended_ns = 0 GROUP BY owner, detail ORDER BY 3 DESC;
CREATE VIEW v_segments AS SELECT
	g.id AS segment, -- segment id in this file
	g.process AS process, -- process id
	g.origin AS origin, -- segment id of the first row that the same call made; in a forked child, its parent's
	g.start_address AS start_address, -- lowest address; start = end = 0: memory in no segment
	g.end_address AS end_address, -- address behind the highest
	g.end_address - g.start_address AS reserved, -- bytes of address space
	g.born_ns AS born_ns, -- first known
	g.ended_ns AS ended_ns, -- unmapped or changed, 0 there until the process ended
	g.source AS source, -- mmap, mremap, brk: such a call; list: found in /proc/PID/smaps; fork: came along
	NULLIF(g.stack, 0) AS stack, -- stack id of the mapping call, NULL unknown
	g.prot AS prot, -- protection when it was mapped or found: 1 read, 2 write, 4 execute
	g.flags AS flags, -- the call's MAP_ flags, 0 unknown
	g.shared AS shared, -- 1: writes reach the file or other processes
	g.file AS file, -- path of the mapped file, NULL none or not known
	g.offset AS offset, -- where in the file it begins
	g.name AS name, -- name given by the program (prctl) or the kernel ([heap]), NULL none
	g.owner AS owner, -- owner: malloc, modules, stacks, v8, ...; unclassified
	g.detail AS detail, -- what of the owner's it is: pool, file, thread, NULL nothing more to say
	COALESCE(r.committed, 0) + COALESCE(q.committed, 0) AS committed, -- accessible bytes at the last sample
	COALESCE(r.rss, 0) + COALESCE(q.rss, 0) AS rss, -- bytes in memory at the last sample
	COALESCE(r.pss, 0) + COALESCE(q.pss, 0) AS pss, -- the same, shared pages divided by the number of processes
	COALESCE(r.private, 0) + COALESCE(q.private, 0) AS private, -- bytes in memory that no other process has
	COALESCE(r.swap, 0) + COALESCE(q.swap, 0) AS swap, -- bytes swapped out
	COALESCE(q.rss, 0) AS malloc_rss, -- of rss: parts in which blocks of malloc lie
	COALESCE(q.live_blocks, 0) AS live_blocks, -- blocks of malloc alive in it at the last sample
	COALESCE(q.live_bytes, 0) AS live_bytes -- their bytes
FROM segment g LEFT JOIN residency r ON r.segment = g.id AND r.malloc = 0 AND
		r.ns = (SELECT MAX(x.ns) FROM residency x WHERE x.segment = g.id AND x.malloc = 0)
	LEFT JOIN residency q ON q.segment = g.id AND q.malloc = 1 AND
		q.ns = (SELECT MAX(x.ns) FROM residency x WHERE x.segment = g.id AND x.malloc = 1);

-- Memory of each process by owner, at each sample. The sum of rss over the owners is the kernel's
-- figure for the process.
-- Example: SELECT owner, SUM(rss) FROM v_memory WHERE process = 1 AND last GROUP BY owner ORDER BY 2 DESC;
CREATE VIEW v_memory AS SELECT
	m.process AS process, -- process id
	m.ns AS at_ns, -- when it was sampled
	m.ns = (SELECT MAX(x.ns) FROM memory x WHERE x.process = m.process) AS last, -- 1: its last sample
	CASE WHEN b.malloc THEN 'malloc' ELSE g.owner END AS owner, -- malloc, modules, stacks, v8, ...; unclassified
	CASE WHEN b.malloc AND g.owner <> 'malloc' THEN g.owner ELSE COALESCE(g.detail, '') END AS detail, -- what of the owner's; malloc: the allocator
	COUNT(DISTINCT g.id) AS segments, -- ranges
	SUM(CASE WHEN b.malloc THEN COALESCE(r.committed, 0) ELSE g.end_address - g.start_address - COALESCE((SELECT y.committed FROM residency y
		WHERE y.segment = g.id AND y.malloc = 1 AND y.ns <= m.ns ORDER BY y.ns DESC LIMIT 1), 0) END) AS reserved, -- bytes of address space
	SUM(COALESCE(r.committed, 0)) AS committed, -- of these, accessible
	SUM(COALESCE(r.rss, 0)) AS rss, -- bytes in memory
	SUM(COALESCE(r.pss, 0)) AS pss, -- the same, shared pages divided by the number of processes
	SUM(COALESCE(r.private, 0)) AS private, -- bytes in memory that no other process has
	SUM(COALESCE(r.swap, 0)) AS swap, -- bytes swapped out
	SUM(COALESCE(r.live_blocks, 0)) AS live_blocks, -- blocks of malloc or of another heap, or garbage-collected objects, alive in it
	SUM(COALESCE(r.live_bytes, 0)) AS live_bytes -- their bytes
FROM memory m JOIN segment g ON g.process = m.process AND g.born_ns <= m.ns AND (g.ended_ns = 0 OR g.ended_ns > m.ns)
	CROSS JOIN (SELECT 0 AS malloc UNION ALL SELECT 1) b
	LEFT JOIN residency r ON r.segment = g.id AND r.malloc = b.malloc AND
		r.ns = (SELECT MAX(x.ns) FROM residency x WHERE x.segment = g.id AND x.malloc = b.malloc AND x.ns <= m.ns)
WHERE b.malloc = 0 OR r.committed > 0 OR r.rss > 0
GROUP BY m.process, m.ns, 4, 5;

-- Allocators as the browser's memory-infra dumps have them.
-- Example: SELECT at_ns, process, bytes, objects FROM v_browser_allocators WHERE name = 'malloc/allocated_objects';
CREATE VIEW v_browser_allocators AS SELECT
	l.process AS process, -- process id, 0 unknown
	l.pid AS pid, -- as the browser saw it
	l.ns AS at_ns, -- when it counted
	l.title AS title, -- what the browser calls the process
	n.name AS name, -- allocator; its parts are inside each other
	a.bytes AS bytes, -- its size
	a.effective_bytes AS effective_bytes, -- what of it no other allocator counts
	a.objects AS objects -- object_count, 0 where the browser gives none
FROM browser_allocator a JOIN browser_sample l ON l.id = a.sample JOIN browser_name n ON n.id = a.name;

-- Objects as V8's heap snapshots have them.
-- Example: SELECT name, objects, bytes FROM v_browser_objects WHERE kind = 'native' ORDER BY bytes DESC LIMIT 20;
CREATE VIEW v_browser_objects AS SELECT
	l.process AS process, -- process id, 0 unknown
	l.pid AS pid, -- as the browser saw it
	l.ns AS at_ns, -- when the snapshot was taken
	l.title AS title, -- address of the page
	k.name AS kind, -- native (garbage-collected C++ objects), object, closure, string, ...
	n.name AS name, -- constructor or class; empty for strings and numbers
	o.objects AS objects, -- how many
	o.bytes AS bytes -- their own, without what they refer to
FROM browser_object o JOIN browser_sample l ON l.id = o.sample JOIN browser_name k ON k.id = o.kind JOIN browser_name n ON n.id = o.name;

-- Heap snapshots that were taken with `shinyctl tell`.
-- Example: SELECT snapshot, at_ns, blocks, edges, stopped_ns FROM v_snapshots;
CREATE VIEW v_snapshots AS SELECT
	t.id AS snapshot, -- snapshot id in this file
	t.process AS process, -- process id
	t.ns AS at_ns, -- when the process stood still
	t.cause AS cause, -- asked: by `shinyctl tell … snapshot`; exit, mark, peak: by SHINY_SNAPSHOT
	t.blocks AS blocks, -- live blocks
	t.bytes AS bytes, -- their bytes
	t.roots AS roots, -- places outside the blocks that point into one
	t.edges AS edges, -- words that point into a block
	t.copied AS copied, -- bytes of the process's memory that were looked through
	t.unread AS unread, -- bytes of it that could not be read
	t.stopped_ns AS stopped_ns, -- how long the process stood still
	t.took_ns AS took_ns -- how long it took to find the edges
FROM snapshot t;

-- Places outside the blocks that point into one, by snapshot.
-- Example: SELECT name, kind FROM v_roots WHERE snapshot = 1 AND kind = 'variable';
CREATE VIEW v_roots AS SELECT
	r.snapshot AS snapshot, -- snapshot id
	r.id AS root, -- from 1 in each snapshot
	r.kind AS kind, -- variable, stack, register, thread-local, mapping, wrapper
	NULLIF(r.module, 0) AS module, -- module id of a variable
	r.vaddr AS vaddr, -- in its file; of a stack in use or a mapping, the lowest
	NULLIF(r.tid, 0) AS tid, -- of a stack or registers the thread
	r.name AS name -- of a variable: its symbol, with the offset in it; NULL unknown
FROM root r;

-- Which words of a type hold pointers, by its layout, in sessions with heap snapshots.
-- Example: SELECT at, name, of FROM v_members WHERE type = 1 AND holds = 'pointer' ORDER BY at;
CREATE VIEW v_members AS SELECT
	m.type AS type, -- type id
	m.at AS at, -- where in the type its first word is
	m.bytes AS bytes, -- of words in a row with the same answers
	m.holds AS holds, -- pointer, maybe (a wide integer, a union), nothing (a vptr, padding)
	m.name AS name, -- of the member; NULL none
	m.of AS of -- its type, or that of a base class of the C++ library; NULL none
FROM member m;

-- Everything that was counted.
-- Example: SELECT name, SUM(count) FROM v_counters GROUP BY name;
CREATE VIEW v_counters AS SELECT
	c.process AS process, -- process id, 0 the whole session
	p.name AS process_name, -- its program
	c.name AS name, -- name of the counter
	c.weight AS weight, -- loss: events are missing; note: nothing is
	c.count AS count, -- how many
	c.text AS text -- what it means
FROM counter c LEFT JOIN process p ON p.id = c.process;

-- What is missing from this session. No rows: nothing is.
-- Example: SELECT text, SUM(count) FROM v_losses GROUP BY text;
CREATE VIEW v_losses AS SELECT
	c.process AS process, -- process id, 0 the whole session
	c.process_name AS process_name, -- its program
	c.name AS name, -- name of the counter
	c.count AS count, -- events lost
	c.text AS text -- why they were lost
FROM v_counters c WHERE c.weight = 'loss' AND c.count > 0;

-- Things worth telling, in words.
-- Example: SELECT process_name, text FROM v_notes;
CREATE VIEW v_notes AS SELECT
	n.process AS process, -- process id, 0 the whole session
	p.name AS process_name, -- its program
	n.text AS text -- one line
FROM note n LEFT JOIN process p ON p.id = n.process;

-- Facts about the recording.
-- Example: SELECT value FROM v_session WHERE key = 'complete';
CREATE VIEW v_session AS SELECT
	s.key AS key, -- name of the fact
	s.value AS value -- text or number
FROM session s;

INSERT INTO session VALUES ('complete', 0);
