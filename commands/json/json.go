package json

import "github.com/vigildb/vigil/commands"

const (
	reads  = commands.ReadOnly
	writes = commands.Write
	grows  = commands.Write | commands.DenyOOM
)

// Group returns the family.
func Group() commands.Group {
	rows := documentRows()
	for _, more := range [][]commands.Command{numberRows(), stringRows(), arrayRows(), objectRows()} {
		rows = append(rows, more...)
	}
	return commands.Group{Name: "json", Commands: rows}
}

func keyOf(f commands.KeyFlag) []commands.KeySpec { return []commands.KeySpec{commands.Key(1, f)} }

func readKey() []commands.KeySpec   { return keyOf(commands.RO | commands.Access) }
func changeKey() []commands.KeySpec { return keyOf(commands.RW | commands.Access | commands.Update) }

func documentRows() []commands.Command {
	return []commands.Command{
		{Name: "JSON.SET", Arity: -4, Flags: grows, Keys: keyOf(commands.RW | commands.Update),
			Syntax: "key path value [NX|XX] [FORMAT <JSON|STRING>] [FPHA <BF16|FP16|FP32|FP64>]", Since: "1.0.0",
			Cost:    "O(n+m) for n bytes of the value and m of what the path visits",
			Summary: "Stores a document, or puts a value at each match of a path in one.", Run: set},
		{Name: "JSON.MSET", Arity: -4, Flags: grows, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 3, commands.RW|commands.Update)},
			Syntax: "key path value [key path value ...]", Since: "2.6.0", Cost: "O(n+m) for n bytes of values and m of what the paths visit",
			Summary: "Puts values at paths of several documents, all of them or none.", Run: mset},
		{Name: "JSON.MERGE", Arity: -4, Flags: grows, Keys: keyOf(commands.RW | commands.Update),
			Syntax: "key path value [FORMAT <JSON|STRING>]", Since: "2.6.0", Cost: "O(n+m) for n bytes of the value and m of what the path visits",
			Summary: "Merges a value into each match of a path, as RFC 7396 says.", Run: merge},
		{Name: "JSON.GET", Arity: -2, Flags: reads, Keys: readKey(),
			Syntax:  "key [INDENT indent] [NEWLINE newline] [SPACE space] [NOESCAPE] [FORMAT <STRING|EXPAND|EXPAND1>] [path [path ...]]",
			Since:   "1.0.0",
			Cost:    "O(n) for n bytes of what the paths visit and match",
			Summary: "Returns the matches of paths as JSON.", Run: get},
		{Name: "JSON.MGET", Arity: -3, Flags: reads, Keys: []commands.KeySpec{commands.KeyRange(1, -2, 1, commands.RO|commands.Access)},
			Syntax: "key [key ...] path", Since: "1.0.0", Cost: "O(n) for n bytes of what the path visits and matches",
			Summary: "Returns the matches of a path in several documents.", Run: mget},
		{Name: "JSON.DEL", Arity: -2, Flags: writes, Keys: keyOf(commands.RM | commands.Delete),
			Syntax: "key [path]", Since: "1.0.0", Cost: "O(n) for n bytes of what the path visits",
			Summary: "Removes each match of a path. The key goes with the last member of its document.", Run: del},
		{Name: "JSON.FORGET", Arity: -2, Flags: writes, Keys: keyOf(commands.RM | commands.Delete),
			Syntax: "key [path]", Since: "1.0.0", Cost: "O(n) for n bytes of what the path visits",
			Summary: "Removes each match of a path, as JSON.DEL does.", Run: del},
		{Name: "JSON.CLEAR", Arity: -2, Flags: writes, Keys: changeKey(),
			Syntax: "key [path]", Since: "2.0.0", Cost: "O(n) for n bytes of what the path visits",
			Summary: "Empties arrays and objects, and sets numbers to 0.", Run: clearValues},
		{Name: "JSON.TYPE", Arity: -2, Flags: reads, Keys: readKey(),
			Syntax: "key [path]", Since: "1.0.0", Cost: "O(n) for n bytes of what the path visits",
			Summary: "Returns the types of the matches of a path.", Run: typeOf},
		{Name: "JSON.RESP", Arity: -2, Flags: reads, Keys: readKey(),
			Syntax: "key [path]", Since: "1.0.0", Cost: "O(n) for n bytes of what the path visits and matches",
			Summary: "Returns the matches of a path as replies of the protocol.", Run: respond},
		{Name: "JSON.DEBUG", Arity: -2, Flags: reads, Keys: []commands.KeySpec{commands.Key(2, commands.RO|commands.Access)},
			Syntax: "MEMORY key [path]|HELP", Since: "1.0.0", Cost: "O(n) for n bytes of what the path visits",
			Summary: "Returns how many bytes the matches of a path take.", Run: debug},
	}
}

func numberRows() []commands.Command {
	row := func(name, summary string, run func(*commands.Ctx) error) commands.Command {
		return commands.Command{Name: name, Arity: 4, Flags: writes, Keys: changeKey(), Syntax: "key path value", Since: "1.0.0",
			Cost: "O(n) for n bytes of what the path visits", Summary: summary, Run: run}
	}
	return []commands.Command{
		row("JSON.NUMINCRBY", "Adds a number to each number that a path matches.", numIncrBy),
		row("JSON.NUMMULTBY", "Multiplies each number that a path matches.", numMultBy),
		row("JSON.NUMPOWBY", "Raises each number that a path matches to a power.", numPowBy),
		{Name: "JSON.TOGGLE", Arity: 3, Flags: writes, Keys: changeKey(), Syntax: "key path", Since: "2.0.0",
			Cost: "O(n) for n bytes of what the path visits", Summary: "Inverts each boolean that a path matches.", Run: toggle},
	}
}

func stringRows() []commands.Command {
	return []commands.Command{
		{Name: "JSON.STRAPPEND", Arity: -3, Flags: grows, Keys: changeKey(), Syntax: "key [path] value", Since: "1.0.0",
			Cost: "O(n) for n bytes of what the path visits", Summary: "Appends a string to each string that a path matches.", Run: strAppend},
		{Name: "JSON.STRLEN", Arity: -2, Flags: reads, Keys: readKey(), Syntax: "key [path]", Since: "1.0.0",
			Cost: "O(n) for n bytes of what the path visits", Summary: "Returns the lengths of the strings that a path matches.", Run: strLen},
	}
}

func arrayRows() []commands.Command {
	const cost = "O(n) for n bytes of what the path visits"
	return []commands.Command{
		{Name: "JSON.ARRAPPEND", Arity: -4, Flags: grows, Keys: changeKey(), Syntax: "key path value [value ...]", Since: "1.0.0",
			Cost: cost, Summary: "Appends values to each array that a path matches.", Run: arrAppend},
		{Name: "JSON.ARRINDEX", Arity: -4, Flags: reads, Keys: readKey(), Syntax: "key path value [start [stop]]", Since: "1.0.0",
			Cost: "O(n) for n bytes of what the path visits and of the arrays", Summary: "Returns where a value first is in each array that a path matches.", Run: arrIndex},
		{Name: "JSON.ARRINSERT", Arity: -5, Flags: grows, Keys: changeKey(), Syntax: "key path index value [value ...]", Since: "1.0.0",
			Cost: cost, Summary: "Inserts values before an index in each array that a path matches.", Run: arrInsert},
		{Name: "JSON.ARRLEN", Arity: -2, Flags: reads, Keys: readKey(), Syntax: "key [path]", Since: "1.0.0",
			Cost: cost, Summary: "Returns the lengths of the arrays that a path matches.", Run: arrLen},
		{Name: "JSON.ARRPOP", Arity: -2, Flags: writes, Keys: changeKey(), Syntax: "key [FORMAT <STRINGS|EXPAND1|EXPAND>] [path [index]]", Since: "1.0.0",
			Cost: cost, Summary: "Removes an element of each array that a path matches, and returns it.", Run: arrPop},
		{Name: "JSON.ARRTRIM", Arity: 5, Flags: writes, Keys: changeKey(), Syntax: "key path start stop", Since: "1.0.0",
			Cost: cost, Summary: "Leaves a range of elements of each array that a path matches.", Run: arrTrim},
	}
}

func objectRows() []commands.Command {
	return []commands.Command{
		{Name: "JSON.OBJKEYS", Arity: -2, Flags: reads, Keys: readKey(), Syntax: "key [path]", Since: "1.0.0",
			Cost: "O(n) for n bytes of what the path visits and of the objects", Summary: "Returns the names of members of the objects that a path matches.", Run: objKeys},
		{Name: "JSON.OBJLEN", Arity: -2, Flags: reads, Keys: readKey(), Syntax: "key [path]", Since: "1.0.0",
			Cost: "O(n) for n bytes of what the path visits", Summary: "Returns how many members the objects have that a path matches.", Run: objLen},
	}
}
