package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// Wire is the form of the answers.
type Wire string

const (
	Demo  Wire = "demo"  // exactly the demo's
	Vigil Wire = "vigil" // the demo's with `unread` beside `seen`, and links that are escaped
)

// Config is what a file says. Durations are texts such as "500ms" and "24h".
type Config struct {
	Wire    Wire  `toml:"wire"`
	Epoch   Epoch `toml:"epoch"`   // minute 0 of activity; UTC unless it says otherwise
	Filters bool  `toml:"filters"` // false on a server without the BF commands

	Budget     Duration `toml:"budget"`      // how long a page waits for its answer
	SessionTTL Duration `toml:"session_ttl"` // of a session's keys, renewed by each page view; 0 is forever
	AnswerTTL  Duration `toml:"answer_ttl"`  // of answers that no page takes

	Names  Names  `toml:"names"`
	Keys   Keys   `toml:"keys"`
	Limits Limits `toml:"limits"`

	Combos        []Combo  `toml:"combo"`
	Featured      []string `toml:"featured"`      // pages, for requests that name none
	Notifications []string `toml:"notifications"` // texts, for requests that name none
}

// Names are the first parts of channels and of the lists of answers.
type Names struct {
	Channels string `toml:"channels"`
	Answers  string `toml:"answers"`
}

// Keys are the first parts of a session's keys.
type Keys struct {
	Unique        string `toml:"unique"`        // HyperLogLog of pages
	Total         string `toml:"total"`         // counter of page views
	Activity      string `toml:"activity"`      // one bit a minute
	Pages         string `toml:"pages"`         // Bloom filter of pages
	Notifications string `toml:"notifications"` // Bloom filter of texts seen
}

// Limits bound what requests can take.
type Limits struct {
	Workers    int `toml:"workers"`     // requests are worked on by so many at once
	Queue      int `toml:"queue"`       // requests that wait, all sessions together
	PerSession int `toml:"per_session"` // requests that wait, of one session
	Payload    int `toml:"payload"`     // bytes of a request's payload
	Items      int `toml:"items"`       // texts in a payload
}

// Combo is a combination of pages that means something when all were viewed.
type Combo struct {
	Name  string   `toml:"name"` // asked for by the payload; the first combo answers all others
	Pages []string `toml:"pages"`
}

// Default is the demo's behaviour.
func Default() Config {
	return Config{
		Wire:       Demo,
		Epoch:      Epoch{time.Date(2018, 4, 1, 0, 0, 0, 0, time.UTC)},
		Filters:    true,
		Budget:     Duration{100 * time.Millisecond},
		SessionTTL: Duration{24 * time.Hour},
		AnswerTTL:  Duration{500 * time.Millisecond},
		Names:      Names{Channels: "ss", Answers: "async"},
		Keys: Keys{Unique: "sess-page-hll", Total: "total-pages", Activity: "activity",
			Pages: "page-bloom", Notifications: "notification"},
		Limits:        Limits{Workers: 4, Queue: 16384, PerSession: 64, Payload: 64 << 10, Items: 1000},
		Combos:        []Combo{{Name: "hdmi-cable", Pages: []string{"/added/tv", "/added/tv-mount"}}},
		Featured:      []string{"/added/tv", "/added/tv-mount"},
		Notifications: []string{"20 percent off hockey gear", "Sale on sweaters", "Welcome to the group notifications"},
	}
}

// Parse reads the text of a file.
func Parse(text []byte, now time.Time) (Config, error) {
	c := Default()
	// The decoder adds to tables that are there; lists must start empty.
	c.Combos = nil
	meta, err := toml.NewDecoder(bytes.NewReader(text)).Decode(&c)
	if err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return Config{}, fmt.Errorf("line %d: %s", at.Position.Line, at.Message)
		}
		return Config{}, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Config{}, fmt.Errorf("%s is no name of a setting", unknown[0])
	}
	if !meta.IsDefined("combo") {
		c.Combos = Default().Combos
	}
	return c, c.Check(now)
}

// Check returns what does not make sense.
func (c Config) Check(now time.Time) error {
	return errors.Join(c.checkForm(now), c.checkTimes(), c.checkNames(), c.checkLimits(), c.checkContent())
}

func (c Config) checkForm(now time.Time) error {
	if c.Wire != Demo && c.Wire != Vigil {
		return fmt.Errorf("wire is %q, want %q or %q", c.Wire, Demo, Vigil)
	}
	if c.Epoch.After(now) {
		return fmt.Errorf("epoch %v is in the future", c.Epoch)
	}
	return nil
}

func (c Config) checkTimes() error {
	switch {
	case c.Budget.Duration <= 0:
		return errors.New("budget must be more than 0")
	case c.AnswerTTL.Duration < time.Millisecond:
		return errors.New("answer_ttl must be at least 1ms")
	case c.SessionTTL.Duration != 0 && c.SessionTTL.Duration < time.Second:
		return errors.New("session_ttl must be at least 1s, or 0 for no end")
	}
	return nil
}

func (c Config) checkNames() error {
	named := map[string]string{}
	for _, n := range []struct{ setting, value string }{
		{"names.answers", c.Names.Answers}, {"keys.unique", c.Keys.Unique}, {"keys.total", c.Keys.Total},
		{"keys.activity", c.Keys.Activity}, {"keys.pages", c.Keys.Pages}, {"keys.notifications", c.Keys.Notifications},
	} {
		if n.value == "" {
			return fmt.Errorf("%s is empty", n.setting)
		}
		if other, ok := named[n.value]; ok {
			return fmt.Errorf("%s and %s are both %q", other, n.setting, n.value)
		}
		named[n.value] = n.setting
	}
	if c.Names.Channels == "" || strings.ContainsAny(c.Names.Channels, `*?[]\`) {
		return fmt.Errorf("names.channels is %q: empty, or a pattern", c.Names.Channels)
	}
	return nil
}

func (c Config) checkLimits() error {
	for _, l := range []struct {
		setting          string
		value, low, high int
	}{
		{"workers", c.Limits.Workers, 1, 1024}, {"queue", c.Limits.Queue, c.Limits.Workers, 1 << 24},
		{"per_session", c.Limits.PerSession, 1, 1 << 24}, {"payload", c.Limits.Payload, 1, 16 << 20},
		{"items", c.Limits.Items, 1, 1 << 20},
	} {
		if l.value < l.low || l.value > l.high {
			return fmt.Errorf("limits.%s is %d, want %d to %d", l.setting, l.value, l.low, l.high)
		}
	}
	return nil
}

func (c Config) checkContent() error {
	names := map[string]bool{}
	for i, combo := range c.Combos {
		if combo.Name == "" || names[combo.Name] {
			return fmt.Errorf("combo %d: name %q is empty or there twice", i+1, combo.Name)
		}
		names[combo.Name] = true
		if len(combo.Pages) > c.Limits.Items {
			return fmt.Errorf("combo %q has more pages than limits.items", combo.Name)
		}
	}
	if len(c.Featured) > c.Limits.Items || len(c.Notifications) > c.Limits.Items {
		return errors.New("featured or notifications has more texts than limits.items")
	}
	return nil
}

// WireNames are the names as package wire has them.
func (c Config) WireNames() wire.Names {
	return wire.Names{Prefix: c.Names.Channels, Async: c.Names.Answers}
}
