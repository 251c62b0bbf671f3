"""Security activity: the events of an account, which its owner can see, and gets mails about if they matter."""
