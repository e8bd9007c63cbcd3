package lua

import (
	"maps"
	"slices"
	"strings"

	glua "github.com/yuin/gopher-lua"

	"github.com/vigildb/vigil/commands"
)

// Library is a library of functions that was loaded.
type Library struct {
	Name, Code string
	Functions  []*Function // in the order of registration

	proto  *glua.FunctionProto
	number int // of the state that the functions belong to; used by the runner only
}

// Function is a function that a library has registered. It may run with any keys.
type Function struct {
	Flags
	Name        string
	Description *string // nil if there is none

	library *Library
	fn      *glua.LFunction // of the state with the library's number; used by the runner only
}

const (
	// maxLibraries bounds the bytes of all libraries together, so that they are loaded in
	// seconds when the server starts.
	maxLibraries = 32 << 20
	// functionBytes is what a function counts for besides its name and description.
	functionBytes = 256
)

// size is what the library counts for in maxLibraries.
func (l *Library) size() int {
	n := len(l.Name) + len(l.Code)
	for _, f := range l.Functions {
		n += f.size()
	}
	return n
}

func (f *Function) size() int {
	n := functionBytes + len(f.Name)
	if f.Description != nil {
		n += len(*f.Description)
	}
	return n
}

// Libraries is a set of libraries, in which every function has one library. The set of
// an engine never changes: changes are made to a clone, which then takes its place.
type Libraries struct {
	byName    map[string]*Library
	functions map[string]*Function // by the name in lower case: FCALL takes any case
	bytes     int
}

// NewLibraries returns a set without libraries.
func NewLibraries() *Libraries {
	return &Libraries{byName: map[string]*Library{}, functions: map[string]*Function{}}
}

// Clone returns a set of the same libraries.
func (l *Libraries) Clone() *Libraries {
	return &Libraries{maps.Clone(l.byName), maps.Clone(l.functions), l.bytes}
}

// Len is the number of libraries and the number of functions.
func (l *Libraries) Len() (libraries, functions int) { return len(l.byName), len(l.functions) }

// Bytes is the length of their sources, and of what they are called.
func (l *Libraries) Bytes() int { return l.bytes }

// Sorted returns the libraries in the order of their names.
func (l *Libraries) Sorted() []*Library {
	list := make([]*Library, 0, len(l.byName))
	for _, name := range slices.Sorted(maps.Keys(l.byName)) {
		list = append(list, l.byName[name])
	}
	return list
}

// Get returns the library of that name, or nil.
func (l *Libraries) Get(name string) *Library { return l.byName[name] }

// Function returns the function of that name, in any case of letters, or nil.
func (l *Libraries) Function(name []byte) *Function {
	if f := l.functions[string(name)]; f != nil {
		return f
	}
	return l.functions[strings.ToLower(string(name))]
}

// Remove removes a library; it returns false if there is none of that name.
func (l *Libraries) Remove(name string) bool {
	lib := l.byName[name]
	if lib == nil {
		return false
	}
	delete(l.byName, name)
	for _, f := range lib.Functions {
		delete(l.functions, strings.ToLower(f.Name))
	}
	l.bytes -= lib.size()
	return true
}

// add adds a library in place of the one of its name. It returns an error, and changes
// nothing, if another library has one of its functions or if there is no room.
func (l *Libraries) add(lib *Library) error {
	bytes := l.bytes + lib.size()
	old := l.byName[lib.Name]
	if old != nil {
		bytes -= old.size()
	}
	for _, f := range lib.Functions {
		if other := l.functions[strings.ToLower(f.Name)]; other != nil && other.library != old {
			return commands.Errorf("ERR Function %s already exists", f.Name)
		}
	}
	if bytes > maxLibraries {
		return errLibraries
	}
	l.Remove(lib.Name)
	l.bytes = bytes
	l.byName[lib.Name] = lib
	for _, f := range lib.Functions {
		l.functions[strings.ToLower(f.Name)] = f
	}
	return nil
}

// Join adds the libraries of another set. replace lets them take the places of those
// that have their names. After an error the set is of no use.
func (l *Libraries) Join(other *Libraries, replace bool) error {
	for name := range other.byName {
		if !replace && l.byName[name] != nil {
			return commands.Errorf("ERR Library %s already exists", name)
		}
		l.Remove(name)
	}
	for _, lib := range other.Sorted() {
		if err := l.add(lib); err != nil {
			return err
		}
	}
	return nil
}
