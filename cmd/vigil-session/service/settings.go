package service

import (
	"time"

	"github.com/vigildb/vigil/cmd/vigil-session/config"
	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// settings are a configuration, ready for use. They never change: a reload
// makes new ones.
type settings struct {
	config.Config
	names                 wire.Names
	sessionTTL, answerTTL int64 // ms
	defaultCombo          []string
	combos                map[string][]string
}

func newSettings(c config.Config) *settings {
	s := &settings{
		Config:     c,
		names:      c.WireNames(),
		sessionTTL: c.SessionTTL.Milliseconds(),
		answerTTL:  c.AnswerTTL.Milliseconds(),
		combos:     map[string][]string{},
	}
	for i, combo := range c.Combos {
		if i == 0 {
			s.defaultCombo = combo.Pages
		}
		s.combos[combo.Name] = combo.Pages
	}
	return s
}

// combo is the combination that a payload asks for.
func (s *settings) combo(payload string) []string {
	if pages, ok := s.combos[payload]; ok {
		return pages
	}
	return s.defaultCombo
}

// message is a request as it was heard.
type message struct {
	wire.Request
	payload string
	heard   time.Time
}
