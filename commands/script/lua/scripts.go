package lua

import (
	"container/list"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"

	glua "github.com/yuin/gopher-lua"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lualib"
)

const (
	// maxEvaluated is how many scripts that were only sent by EVAL are kept, as in Redis.
	// Those of SCRIPT LOAD are kept until SCRIPT FLUSH.
	maxEvaluated = 500
	// MaxSource is the length in bytes of the longest script or library.
	MaxSource = 1 << 20
	// maxLoaded bounds the bytes of source that SCRIPT LOAD keeps.
	maxLoaded = 128 << 20
)

// Digest is the SHA1 digest of a script's source, by which EVALSHA names it.
type Digest [sha1.Size]byte

// DigestOf is the digest of a source.
func DigestOf(source []byte) Digest { return sha1.Sum(source) }

// ParseDigest reads 40 hexadecimal digits.
func ParseDigest(text []byte) (d Digest, ok bool) {
	if len(text) != 2*len(d) {
		return d, false
	}
	_, err := hex.Decode(d[:], text)
	return d, err == nil
}

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Script is a script that was compiled.
type Script struct {
	Flags
	name  string // the digest in hexadecimal
	proto *glua.FunctionProto
	text  string        // the source
	place *list.Element // among the evaluated; nil if it is kept; guarded by scripts.mu

	// The function of the state with this number, used by the runner only.
	fn     *glua.LFunction
	number int
}

// Source is what the script was made of.
func (s *Script) Source() string { return s.text }

// in returns the function of the script in a state, with the state's globals.
func (s *Script) in(st *state) *glua.LFunction {
	if s.number != st.number {
		s.fn, s.number = lualib.Function(st.LState, s.proto, st.constants...), st.number
	}
	s.fn.Env = st.view
	return s.fn
}

// scripts keeps scripts by their digests.
type scripts struct {
	mu        sync.Mutex
	all       map[Digest]*Script // guarded by mu
	evaluated list.List          // digests, the last used at the end; guarded by mu
	loaded    int                // bytes of the sources of the others; guarded by mu
	evicted   int64              // of the evaluated, since the start; guarded by mu
}

func (c *scripts) init() {
	c.all = map[Digest]*Script{}
	c.evaluated.Init()
	c.loaded = 0
}

// Find returns the script with a digest, or nil.
func (e *Engine) Find(d Digest) *Script {
	c := &e.scripts
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.all[d]
	if s != nil && s.place != nil {
		c.evaluated.MoveToBack(s.place)
	}
	return s
}

// Evaluate returns the script of a source, compiling it if it is new. It is kept until 500
// others have been evaluated.
func (e *Engine) Evaluate(source []byte) (*Script, error) {
	d := DigestOf(source)
	if s := e.Find(d); s != nil {
		return s, nil
	}
	s, err := e.compile(d, source)
	if err != nil {
		return nil, err
	}
	c := &e.scripts
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.evaluated.Len() >= maxEvaluated {
		oldest := c.evaluated.Front()
		delete(c.all, c.evaluated.Remove(oldest).(Digest))
		c.evicted++
	}
	s.place = c.evaluated.PushBack(d)
	c.all[d] = s
	return s, nil
}

// Load compiles a source and keeps the script until Flush.
func (e *Engine) Load(source []byte) (Digest, error) {
	d := DigestOf(source)
	s := e.Find(d)
	if s == nil {
		var err error
		if s, err = e.compile(d, source); err != nil {
			return d, err
		}
	}
	c := &e.scripts
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.place != nil {
		c.evaluated.Remove(s.place)
		s.place = nil
	} else if c.all[d] != nil {
		return d, nil
	}
	if c.loaded+len(s.text) > maxLoaded {
		return d, errCacheFull
	}
	c.loaded += len(s.text)
	c.all[d] = s
	return d, nil
}

// Flush forgets all scripts, and what they have set in the libraries of Lua.
func (e *Engine) Flush() {
	e.stale[ofScript].Store(true)
	c := &e.scripts
	c.mu.Lock()
	defer c.mu.Unlock()
	c.init()
}

// Evicted is how many scripts gave way to others since the start.
func (e *Engine) Evicted() int64 {
	e.scripts.mu.Lock()
	defer e.scripts.mu.Unlock()
	return e.scripts.evicted
}

// Cached is the number of scripts kept and the bytes of their sources.
func (e *Engine) Cached() (scripts, bytes int) {
	c := &e.scripts
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		bytes += len(s.text)
	}
	return len(c.all), bytes
}

// compile compiles a source. A first line with "#!" is not Lua; its line end stays, so
// that lines keep their numbers.
func (e *Engine) compile(d Digest, source []byte) (*Script, error) {
	if len(source) > MaxSource {
		return nil, errTooLong
	}
	text := string(source)
	s := &Script{name: d.String(), text: text}
	if strings.HasPrefix(text, "#!") {
		head, _, ok := strings.Cut(text, "\n")
		if !ok {
			return nil, errShebang
		}
		flags, err := parseShebang(head)
		if err != nil {
			return nil, err
		}
		s.Flags, text = flags, text[len(head):]
	}
	proto, err := lualib.Compile(text, "user_script", unbounded{}, constants...)
	if err != nil {
		return nil, commands.Errorf("ERR Error compiling script (new function): %s", err)
	}
	s.proto = proto
	return s, nil
}

// unbounded is the meter of the compiler: sources are bounded.
type unbounded struct{}

func (unbounded) Step(int) error { return nil }
func (unbounded) Take(int) error { return nil }
