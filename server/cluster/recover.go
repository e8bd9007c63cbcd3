package cluster

// Recover has the member vote although it may lack what it has acknowledged: by the word of
// somebody who knows that the others cannot go on without.
func (d *Driver) Recover() error {
	if d.lost == 0 {
		return ErrNothingToRecover
	}
	d.lost = 0
	d.campaigns = campaigns{due: d.now + d.timeout()}
	return d.Log.Recovered()
}

// alone reports whether the member is all of its group: what it has lost nobody has.
func (d *Driver) alone() bool {
	conf := d.Log.Members().Conf
	return len(conf.GetVoters()) == 1 && conf.GetVoters()[0] == d.ID && len(conf.GetVotersOutgoing())+len(conf.GetLearners()) == 0
}
