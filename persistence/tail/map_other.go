//go:build !linux && !darwin && !freebsd

package tail

import "errors"

// Map is not to be had on this system.
func Map(string, int) (Memory, error) { return nil, errors.ErrUnsupported }
