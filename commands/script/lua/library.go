package lua

import (
	"strings"

	glua "github.com/yuin/gopher-lua"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lualib"
)

// A library is a source that registers functions when it is run, once for each state of
// the engine. When a state is given up because a script in it had to be ended, the source
// is run again in the next one, so that what its functions keep in variables of the
// library between calls begins anew.

// Libraries returns the libraries of the engine.
func (e *Engine) Libraries() *Libraries { return e.libraries.Load() }

// SetLibraries replaces the libraries of the engine.
func (e *Engine) SetLibraries(l *Libraries) { e.libraries.Store(l) }

// RenewFunctions gives functions a new state, as FUNCTION FLUSH does: what functions have
// set in the libraries of Lua, and keep in variables, begins anew.
func (e *Engine) RenewFunctions() { e.stale[ofFunction].Store(true) }

// AddLibrary loads a library into a set of the caller's and returns its name. The source
// may use that much memory while it registers its functions. The error is what the client
// gets; the set is as it was then.
func (e *Engine) AddLibrary(set *Libraries, code string, replace bool, memory int64) (name string, err error) {
	if len(code) > MaxSource {
		return "", errLibraryTooLong
	}
	name, text, err := parseLibrary(code)
	if err != nil {
		return "", err
	}
	if set.byName[name] != nil && !replace {
		return "", commands.Errorf("ERR Library '%s' already exists", name)
	}
	lib := &Library{Name: name, Code: code}
	if lib.proto, err = lualib.Compile(text, "user_function", unbounded{}); err != nil {
		return "", commands.Errorf("ERR Error compiling function: %s", err)
	}
	if err := e.load(lib, memory); err != nil {
		return "", err
	}
	if len(lib.Functions) == 0 {
		return "", errNoFunctions
	}
	return name, set.add(lib)
}

// load runs the source of a library for the first time.
func (e *Engine) load(lib *Library, memory int64) (err error) {
	r := &Run{Memory: memory, name: lib.Name, kind: ofFunction, loads: true}
	e.begin(r)
	defer e.finish()
	lib.Functions, err = e.register(e.state, lib, r)
	lib.number = e.state.number
	if r.why() != nil {
		e.state = nil
	}
	return err
}

// register runs the source of a library in a state and returns the functions that it
// registered.
func (e *Engine) register(s *state, lib *Library, r *Run) ([]*Function, error) {
	s.use(s.loading)
	r.loading = &loading{library: lib}
	defer func() { r.loading = nil }()
	s.Push(e.function(s, lib.proto))
	err := s.PCall(0, 0, s.failed)
	if why := r.why(); why != nil {
		return nil, commands.Errorf("ERR Error registering functions: %s", why)
	}
	if err != nil {
		text := err.Error()
		if api, ok := err.(*glua.ApiError); ok {
			text = glua.LVAsString(api.Object)
			if t, ok := api.Object.(*glua.LTable); ok {
				text = glua.LVAsString(t.RawGetString("err"))
			}
		}
		return nil, commands.Errorf("ERR Error registering functions: %.500s", text)
	}
	return r.loading.functions, nil
}

// function makes a function of what was compiled, with the globals of the state.
func (e *Engine) function(s *state, proto *glua.FunctionProto) *glua.LFunction {
	fn := lualib.Function(s.LState, proto)
	fn.Env = s.view
	return fn
}

func (e *Engine) runFunction(f *Function, r *Run) error {
	r.name, r.kind = f.Name, ofFunction
	e.begin(r)
	defer e.finish()
	s := e.state
	if err := e.renew(s, f.library, r); err != nil {
		return err
	}
	if f.fn == nil {
		return ErrNoFunction
	}
	s.use(s.functions)
	s.Push(f.fn)
	for _, list := range [][][]byte{r.Keys, r.Args} { // tables of their own, which a library may keep
		t := s.NewTable()
		s.setStrings(t, list)
		s.Push(t)
	}
	return e.execute(s, 2)
}

// renew registers the functions of a library again if they belong to another state.
func (e *Engine) renew(s *state, lib *Library, r *Run) error {
	if lib.number == s.number {
		return nil
	}
	made, err := e.register(s, lib, r)
	if err != nil {
		if r.why() != nil {
			e.state = nil
		}
		return err
	}
	byName := map[string]*glua.LFunction{}
	for _, f := range made {
		byName[f.Name] = f.fn
	}
	for _, f := range lib.Functions {
		f.fn = byName[f.Name]
	}
	lib.number = s.number
	return nil
}

// parseLibrary reads "#!lua name=x", the first line of a library, and returns what is
// behind it. The line end stays, so that lines keep their numbers.
func parseLibrary(code string) (name, text string, err error) {
	if !strings.HasPrefix(code, "#!") {
		return "", "", errNoMetadata
	}
	head, _, ok := strings.Cut(code, "\n")
	if !ok {
		return "", "", errMetadata
	}
	words, ok := splitWords(head)
	if !ok {
		return "", "", errMetadata
	}
	named := false
	for _, word := range words[1:] {
		switch {
		case len(word) < 5 || !strings.EqualFold(word[:5], "name="):
			return "", "", commands.Errorf("ERR Invalid metadata value given: %.128s", word)
		case named:
			return "", "", errNamedTwice
		}
		name, named = word[5:], true
	}
	engine := words[0][len("#!"):]
	switch {
	case !named:
		return "", "", errUnnamed
	case !validName(name):
		return "", "", commands.Errorf("ERR %s", errName)
	case !strings.EqualFold(engine, "lua"):
		return "", "", commands.Errorf("ERR Engine '%.128s' not found", engine)
	}
	return name, code[len(head):], nil
}

// splitWords returns the words of a line that begins with one. A word may end with a part
// in quotes; ok is false if that is not the end of the word.
func splitWords(line string) (words []string, ok bool) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexAny(line, " \t\r\"'")
		if end < 0 {
			end = len(line)
		}
		word, rest := line[:end], line[end:]
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			quoted, behind, closed := strings.Cut(rest[1:], rest[:1])
			if !closed || behind != "" && !strings.ContainsAny(behind[:1], " \t\r") {
				return nil, false
			}
			word, rest = word+quoted, behind
		}
		words, line = append(words, word), rest
	}
	return words, true
}

// validName reports whether a library or a function may have that name.
func validName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}
