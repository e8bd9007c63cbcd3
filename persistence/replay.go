package persistence

func (s *Store) replay() error { return nil }
