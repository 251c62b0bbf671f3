"""What every page of the admin shares, whatever floor its model stands on."""
