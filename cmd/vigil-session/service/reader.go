package service

import "fmt"

// reader takes replies apart and keeps the first error.
type reader struct{ err error }

func (r *reader) integer(v any) int64 {
	n, ok := v.(int64)
	if !ok {
		r.unexpected(v)
	}
	return n
}

// truth reads what RESP2 says with 0 and 1, and RESP3 with booleans too.
func (r *reader) truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v == 1
	}
	r.unexpected(v)
	return false
}

func (r *reader) element(v any, i int) any {
	list, ok := v.([]any)
	if !ok || i >= len(list) {
		r.unexpected(v)
		return nil
	}
	return list[i]
}

func (r *reader) unexpected(v any) {
	if r.err != nil {
		return
	}
	if err, ok := v.(error); ok {
		r.err = err
		return
	}
	r.err = fmt.Errorf("reply %v makes no sense", v)
}
