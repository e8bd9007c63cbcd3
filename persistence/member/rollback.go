package member

// Values on disk, and what is noted beside them, never contain records that are not
// committed. So memory is rolled back as it is made at Open: everything in it is
// forgotten, and the journal is replayed up to what is committed. Entries behind that stay
// in the log: a later leader decides about them.

// rollBack makes memory of what is committed.
func (m *Member) rollBack() error {
	defer m.host.HoldStill()()
	if err := m.remake(); err != nil {
		return err
	}
	if planted != reusedPositions {
		m.durable.Abandon()
	}
	m.torn = false
	return nil
}

// remake forgets memory and makes it anew of the disk. Everything is held still.
func (m *Member) remake() error {
	m.forgetJournal()
	return m.host.Remake()
}

// forgetJournal drops what was journalled and not proposed.
func (m *Member) forgetJournal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due = m.journal.Take(m.due, true)
	m.drop(len(m.due))
	m.flying = nil
}
