package json

import (
	"errors"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/json/path"
)

// scratch is memory that calls use one after the other.
type scratch struct {
	parser json.Parser
	print  json.Printer
	value  []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch is the memory that is kept for the next call.
const maxScratch = 64 << 10

func (s *scratch) release() {
	if cap(s.value) > maxScratch {
		s.value = nil
	}
	if cap(s.print.Text) > maxScratch {
		s.print.Text = nil
	}
	s.print.Layout, s.print.Limit, s.print.Over = json.Layout{}, 0, false
	scratches.Put(s)
}

// parse appends the value of an argument to the scratch, and returns it with the number of
// containers that lie in one another.
func (s *scratch) parse(text []byte, floats json.Float) (value []byte, depth int, err error) {
	if !utf8.Valid(text) {
		return nil, 0, errUTF8
	}
	from := len(s.value)
	all, depth, err := s.parser.Parse(s.value, text, floats)
	if err != nil {
		return nil, 0, commands.WireError(err.Error())
	}
	s.value = all
	return all[from:], depth, nil
}

// word is an argument that must be UTF-8.
func word(c *commands.Ctx) []byte {
	b := c.Args.Bytes()
	if !utf8.Valid(b) {
		c.Args.Fail(errUTF8)
	}
	return b
}

// option is the next argument as [commands.Args.Word] returns it.
func option(c *commands.Ctx) string {
	if !utf8.Valid(c.Args.Peek()) {
		c.Args.Fail(errUTF8)
	}
	return c.Args.Word()
}

// pathOr is the next argument, or the path of the root if there is none.
func pathOr(c *commands.Ctx) []byte {
	if !c.Args.More() {
		return []byte(".")
	}
	return word(c)
}

// paths are those that calls used before, by their texts.
type paths map[string]*path.Path

var knownPaths = sync.Pool{New: func() any { return paths{} }}

// Bounds of the paths that are kept, and of their texts.
const (
	maxPaths    = 64
	maxPathText = 128
)

func parsePath(text []byte) (*path.Path, error) {
	known := knownPaths.Get().(paths)
	defer knownPaths.Put(known)
	if p := known[string(text)]; p != nil {
		return p, nil
	}
	p, err := path.Parse(text)
	if err != nil {
		return nil, commands.WireError(err.Error())
	}
	if len(text) <= maxPathText && !p.IsRoot() {
		if len(known) == maxPaths {
			clear(known)
		}
		known[string(text)] = p
	}
	return p, nil
}

// searches is the search of a call on several documents, or on one several times. Each document
// adds to what the call may visit once.
type searches struct {
	*path.Search
	seen map[*json.Document]bool
}

func newSearches() *searches { return &searches{path.NewSearch(0), map[*json.Document]bool{}} }

// of allows what may be visited because of a document.
func (s *searches) of(d *json.Document) *path.Search {
	if !s.seen[d] {
		s.seen[d] = true
		s.Allow(d.Bytes())
	}
	return s.Search
}

// isLegacy reports whether a path, which may be a bad one, is read as a legacy path.
func isLegacy(text []byte) bool { return !path.IsJSONPath(text) }

// keyError is the error of this family for a key of another type.
func keyError(err error) error {
	if errors.Is(err, structures.ErrWrongType) {
		return errKeyType
	}
	return err
}

// view finds a document to read, nil if the key is missing.
func view(c *commands.Ctx, key []byte) (*json.Document, error) {
	d, ok, err := commands.View[*json.Document](c, key)
	if err != nil || !ok {
		return nil, keyError(err)
	}
	return d, nil
}

// quickSteps is how many steps a call takes on a large document while its key is locked: half a millisecond.
const quickSteps = 1 << 15

// isLarge reports whether a document is for [readLarge]. One with pages on disk only cannot be forked.
func isLarge(c *commands.Ctx, d *json.Document) bool {
	pages, _ := d.Evicted()
	return pages == 0 && c.WorthAFork(d.Size())
}

// readLarge replies with what read finds in a large document. It does that while the key is locked if few steps are enough, as quick
// demands; if not, read begins anew in a fork, when the key is not locked any more.
func readLarge(c *commands.Ctx, d *json.Document, read func(d *json.Document, quick bool) error) error {
	mark := c.Reply.Len()
	err := read(d, true)
	if err != errSteps {
		return err
	}
	c.Reply.Rewind(mark)
	forks, _ := commands.Fork(c, d)
	return c.TryLater(func() error { return read(forks[0], false) })
}

// newSearch returns the search of a call on one document.
func newSearch(d *json.Document, quick bool) *path.Search {
	if quick {
		return &path.Search{Steps: json.NewBudget(quickSteps)}
	}
	return path.NewSearch(d.Bytes())
}

// isLong reports whether a value is too much to read in a quick call.
func isLong(v json.Value, quick bool) bool { return quick && v.Memory()/2 > quickSteps }

// update is a change of a document.
type update struct {
	c    *commands.Ctx
	key  []byte
	d    *json.Document // nil: the key is missing
	ch   *structures.Change
	from int // what was recorded before
	path *path.Path
	list []path.Match
	fits []bool // of the matches, those for which the command is

	search *path.Search // that of other changes of the call; nil: there are none
}

// edit finds a document to change.
func edit(c *commands.Ctx, key []byte) (*update, error) {
	d, ch, ok, err := persistence.Edit[*json.Document](c.Tx, key, nil)
	if err != nil {
		return nil, keyError(err)
	}
	u := &update{c: c, key: key}
	if ok {
		u.d, u.ch, u.from = d, ch, ch.Len()
	}
	return u, nil
}

// existing is edit for commands to which a missing key is an error, and find.
func existing(c *commands.Ctx, key, text []byte) (*update, error) {
	u, err := edit(c, key)
	if err == nil && u.d == nil {
		err = errNoKey
	}
	if err == nil {
		err = u.find(text)
	}
	return u, err
}

// find finds the matches of a path.
func (u *update) find(text []byte) (err error) {
	if u.path, err = parsePath(text); err != nil {
		return err
	}
	return u.match()
}

func (u *update) match() error {
	if place, ok := u.path.Place(); ok {
		u.list = nil
		if v, ok := u.d.Lookup(place); ok {
			u.list = []path.Match{path.Found(v, u.path)}
		}
		return u.c.Tx.Err()
	}
	search := u.search
	if search == nil {
		search = path.NewSearch(u.d.Bytes())
	}
	var ok bool
	u.list, ok = search.All(u.path, u.d.Root(), true)
	if !ok {
		return errSteps
	}
	return u.c.Tx.Err()
}

// changed reports whether something was recorded.
func (u *update) changed() bool { return u.ch.Len() > u.from }

// smallRecord is what may be recorded of changes even if the whole document is shorter.
const smallRecord = 256

// done publishes that the key changed. Of many changes, the whole document is recorded instead if
// that is shorter.
func (u *update) done(event string) {
	if n := u.ch.Len() - u.from; n > smallRecord && n > u.d.Bytes()/2 {
		u.d.Whole(u.ch, u.from)
	}
	u.c.Notify(commands.EventModule, event, u.key)
}

// maxCopies bounds the bytes that one call may put into documents beyond those that it brings: it does so while the keys are locked.
const maxCopies = 64 << 20

// allows reports an error if so many copies of a value of so many bytes and containers in one
// another cannot be put at places that are that deep.
func allows(copies, size, depth, deepest int) error {
	if deepest+depth > json.MaxDepth {
		return errDepth
	}
	if size > 0 && copies > 1 && copies > maxCopies/size {
		return errCopies
	}
	return nil
}

// sorted returns matches of the path in the order of the document.
func (u *update) sorted(list []path.Match) []*path.Match {
	pointers := make([]*path.Match, len(list))
	for i := range list {
		pointers[i] = &list[i]
	}
	if !u.path.Ordered() && !slices.IsSortedFunc(pointers, path.Compare) {
		slices.SortFunc(pointers, path.Compare)
	}
	return pointers
}

// outermost leaves of matches those that lie in no other one, each once, and returns them from the
// end of the document to its beginning.
func (u *update) outermost(list []path.Match) []*path.Match {
	sorted := u.sorted(list)
	if u.path.Ordered() {
		slices.Reverse(sorted)
		return sorted
	}
	out := sorted[:0]
	for _, m := range sorted {
		if n := len(out); n == 0 || !path.Contains(out[n-1], m) {
			out = append(out, m)
		}
	}
	slices.Reverse(out)
	return out
}

// choose keeps the matches for which a command is, in the order in which they were found, and
// returns their indexes and the ways to them. The pages of these are in memory then.
func (u *update) choose(fits func(json.Value) bool) (order []int, paths [][]json.Step, err error) {
	paths = make([][]json.Step, len(u.list))
	u.fits = make([]bool, len(u.list))
	for i := range u.list {
		if u.fits[i] = fits(u.list[i].Value); u.fits[i] {
			order = append(order, i)
			paths[i] = u.list[i].Path()
		}
	}
	for _, i := range order {
		if !u.d.Pin(paths[i]) {
			break
		}
	}
	return order, paths, u.c.Tx.Err()
}

// deepestFirst orders matches, which are containers, so that a change of the members of one does not
// move another that is changed later.
func (u *update) deepestFirst(order []int) {
	if !u.path.Ordered() {
		slices.SortStableFunc(order, func(a, b int) int { return u.list[b].Depth() - u.list[a].Depth() })
	}
}

// reply writes the reply of an update: for each match nil, or what one writes for it. Of a legacy
// path it is that for the match which was changed last.
func (u *update) reply(order []int, one func(i int)) {
	if u.path.Legacy {
		one(order[len(order)-1])
		return
	}
	u.c.Reply.Array(len(u.list))
	for i, fits := range u.fits {
		if fits {
			one(i)
		} else {
			u.c.Reply.Null()
		}
	}
}
