package webtier

import (
	"errors"
	"fmt"
)

// ErrDegraded is returned when a page has to do without its answer. The errors
// below are cases of it, and errors.Is finds it in each of them.
var ErrDegraded = errors.New("webtier: degraded")

var (
	// ErrNoSubscriber: no microservice hears of this session.
	ErrNoSubscriber = fmt.Errorf("%w: no subscriber", ErrDegraded)
	// ErrNoAnswer: a microservice heard of it, and the budget is used up.
	ErrNoAnswer = fmt.Errorf("%w: no answer in time", ErrDegraded)
	// ErrBusy: the budget was used up waiting for Options.Waiting others.
	ErrBusy = fmt.Errorf("%w: too many requests wait", ErrDegraded)
	// ErrStore: the store is down, refused a command, or did not take the
	// request within the budget; a cause is wrapped. The request may have been
	// heard.
	ErrStore = fmt.Errorf("%w: store failed", ErrDegraded)
	// ErrAnswer: the answer does not have the form of the command's answers.
	ErrAnswer = fmt.Errorf("%w: answer not understood", ErrDegraded)
)
