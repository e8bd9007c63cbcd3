package config

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a time.Duration that a file writes as text: "100ms".
type Duration struct{ time.Duration }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

// Epoch is a moment that a file writes as a date or a date and time: UTC unless
// the text has an offset.
type Epoch struct{ time.Time }

var epochLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// ParseEpoch reads 2018-04-01, 2018-04-01T00:00 and 2018-04-01T00:00:00+02:00.
func ParseEpoch(text string) (Epoch, error) {
	for _, layout := range epochLayouts {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return Epoch{t}, nil
		}
	}
	return Epoch{}, fmt.Errorf("epoch %q is no date, such as 2018-04-01, and no date with a time", text)
}

// UnmarshalTOML takes text and TOML's own dates. Those without an offset come in
// the machine's zone under a name that says so, and are meant in UTC.
func (e *Epoch) UnmarshalTOML(v any) (err error) {
	switch v := v.(type) {
	case string:
		*e, err = ParseEpoch(v)
	case time.Time:
		e.Time = v
		if strings.HasSuffix(v.Location().String(), "-local") {
			e.Time = time.Date(v.Year(), v.Month(), v.Day(), v.Hour(), v.Minute(), v.Second(), 0, time.UTC)
		}
	default:
		err = fmt.Errorf("epoch %v is no date", v)
	}
	return err
}

// Minute is how many minutes have passed between the epoch and t.
func (e Epoch) Minute(t time.Time) int64 {
	return int64(t.Sub(e.Time) / time.Minute)
}
