package format

import (
	"fmt"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// DecodeValue makes a value from the payload of its head, without pages.
func DecodeValue(kind structures.Kind, payload []byte, keys *structures.HashKeys) (structures.Value, error) {
	t := types.Of(kind)
	if t == nil {
		return nil, fmt.Errorf("value of kind %d: %w", kind, structures.ErrUnknownChange)
	}
	return t.Decode(payload, keys)
}

// Complete asks a value that has been given all its pages whether they were all
// it needs, if its type provides that.
func Complete(v structures.Value) error {
	if c, ok := v.(interface{ Complete() error }); ok {
		return c.Complete()
	}
	return nil
}
