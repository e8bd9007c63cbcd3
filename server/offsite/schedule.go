package offsite

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var errSchedule = errors.New("want a time between backups, such as 3600, 90m, 6h, 1d, hourly, daily or weekly, or 0 for none")

// ParseEvery reads how long there is between backups: seconds, or a number with a unit, or a word. 0 is no schedule.
func ParseEvery(s string) (time.Duration, error) {
	switch s = strings.ToLower(s); s {
	case "hourly":
		return time.Hour, nil
	case "daily":
		return 24 * time.Hour, nil
	case "weekly":
		return 7 * 24 * time.Hour, nil
	}
	unit := time.Second
	for suffix, d := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = number, d
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, errSchedule
	}
	return time.Duration(n) * unit, nil
}

// ParseUntil reads a moment: RFC 3339, the same without a zone and with a blank for the T, which is UTC, or seconds of Unix time.
func ParseUntil(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 {
		return time.Unix(n, 0), nil
	}
	return time.Time{}, errors.New("want a time such as 2026-01-02T03:04:05Z, or seconds of Unix time")
}

// noTime is no bound.
var noTime time.Time
