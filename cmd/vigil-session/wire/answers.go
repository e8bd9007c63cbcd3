package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// PageView is the answer to a page view.
type PageView struct {
	// ActivityThisMinute says whether the session had already viewed a page in
	// this minute, before this view.
	ActivityThisMinute bool `json:"activityThisMinute"`
	// TotalPages counts the session's views, this one included.
	TotalPages int64 `json:"totalPages"`
	// Activity has a 1 for each of the five minutes before this one in which
	// the session viewed a page, the oldest first.
	Activity [5]int `json:"activity"`
	// UniquePages is how many different pages were viewed, about.
	UniquePages int64 `json:"uniquePages"`
	// PreviouslyVisited says whether this page has probably been viewed before;
	// false is certain.
	PreviouslyVisited bool `json:"previouslyVisited"`
}

// First says whether this is the session's first page.
func (v PageView) First() bool { return v.TotalPages == 1 }

// Idle says whether the visitor comes back after five minutes or more without
// a page.
func (v PageView) Idle() bool {
	return v.TotalPages > 1 && !v.ActivityThisMinute && v.Activity == [5]int{}
}

// Notification is one element of the answer to notifications.
type Notification struct {
	Text string `json:"text"`
	// Seen is true for what has NOT been seen: the demo's serving layer expects
	// it that way round.
	Seen bool   `json:"seen"`
	Link string `json:"link"`
	// Unread has the same value under its right name. Nil if the microservice
	// speaks the demo's form only.
	Unread *bool `json:"unread,omitempty"`
}

// IsUnread says whether the notification has not been seen yet, whichever form
// the answer has.
func (n Notification) IsUnread() bool {
	if n.Unread != nil {
		return *n.Unread
	}
	return n.Seen
}

// Marshal is JSON as JavaScript writes it: without escapes for HTML.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalText is the JSON of a string that holds the JSON of v: the form in
// which the demo answers with lists.
func MarshalText(v any) ([]byte, error) {
	text, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	return Marshal(string(text))
}

// UnmarshalText reads what MarshalText writes. A bare value is taken too.
func UnmarshalText(b []byte, v any) error {
	if len(b) > 0 && b[0] == '"' {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return fmt.Errorf("decode an answer: %w", err)
		}
		b = []byte(text)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode an answer: %w", err)
	}
	return nil
}
